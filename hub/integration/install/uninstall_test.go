//go:build slow

package install

import (
	"context"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/install/uninstall"
)

// releaseVersion begins the version of every program of this checkout.
const releaseVersion = "v0.1.0"

func TestAHubWithoutBerthRefusesNothing(t *testing.T) {
	hub := hubtest.New(t, hubtest.Options{})
	admin := kit.New(t, hub)
	running := hubtest.StartManager(t, hub, hubtest.ManagerOptions{Webhooks: true, Args: []string{"--leader-elect=true"}})
	kit.Await(t, "the webhooks are registered", func(ctx context.Context) error {
		steps, err := planned(ctx, hub)
		if err != nil || len(steps) < 2 {
			return fmt.Errorf("the webhooks are not registered: %v, %w", steps, err)
		}
		return nil
	})
	set := &workv1alpha1.ManifestWorkReplicaSet{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: "kept",
		Finalizers: []string{workv1alpha1.ManifestWorkReplicaSetFinalizer, "example.com/other"},
	}}
	set.Spec.ManifestWorkTemplate.Workload.Manifests = []workv1.Manifest{{RawExtension: runtime.RawExtension{Raw: []byte(configMap)}}}
	set.Spec.PlacementRefs = []workv1alpha1.LocalPlacementReference{{Name: "nowhere"}}
	admin.AwaitCreated(set)

	if output := mustRun(t, hub, hubtest.PluginBinary, "version", "--with-hub"); !strings.Contains(output, "\nmanager "+releaseVersion) ||
		!strings.Contains(output, "\ndefinitions unknown\n") {
		t.Errorf("while a manager leads, on definitions without a release, the versions are\n%s", output)
	}
	mustRun(t, hub, manager, "crds", "apply")
	if output := mustRun(t, hub, hubtest.PluginBinary, "version", "--with-hub"); !strings.Contains(output, "\ndefinitions "+releaseVersion) {
		t.Errorf("once a release has stored the definitions, the versions are\n%s", output)
	}
	if output, err := run(t.Context(), t, hub, hubtest.PluginBinary, "uninstall", "--yes"); err == nil ||
		!strings.Contains(output, uninstall.ErrManagerRuns.Error()) {
		t.Errorf("while a manager runs: %v\n%s", err, output)
	}
	running.Kill()
	running.WaitExit(t)
	if err := admin.Create(t.Context(), kit.AcceptedCluster("before")); err == nil ||
		!strings.Contains(err.Error(), "failed calling webhook") {
		t.Fatalf("without a manager a guarded write gives %v, want a refusal", err)
	}

	dry := mustRun(t, hub, hubtest.PluginBinary, "uninstall")
	for _, want := range []string{
		"would delete MutatingWebhookConfiguration berth\n", "would delete ValidatingWebhookConfiguration berth\n",
		"would stop conversion of CustomResourceDefinition managedclusteraddons.addon.open-cluster-management.io\n",
		"would delete ValidatingAdmissionPolicy berth-agents\n", "would remove finalizers of ManifestWorkReplicaSet default/kept\n",
		"This was a dry run",
	} {
		if !strings.Contains(dry, want) {
			t.Errorf("the dry run lacks %q:\n%s", want, dry)
		}
	}
	if again := mustRun(t, hub, hubtest.PluginBinary, "uninstall"); again != dry {
		t.Errorf("the dry run changed the hub: before\n%s\nafter\n%s", dry, again)
	}
	kit.Await(t, "the uninstallation succeeds", func(ctx context.Context) error {
		_, err := run(ctx, t, hub, hubtest.PluginBinary, "uninstall", "--yes") // the lease of the killed manager ends
		return err
	})
	if output := mustRun(t, hub, hubtest.PluginBinary, "uninstall"); output != "Nothing of Berth hinders this hub.\n" {
		t.Errorf("after it a dry run finds\n%s", output)
	}

	if err := admin.Create(t.Context(), kit.AcceptedCluster("after")); err != nil {
		t.Errorf("a write that the webhooks guarded: %v", err)
	}
	found := &workv1alpha1.ManifestWorkReplicaSet{}
	admin.MustGet(client.ObjectKeyFromObject(set), found)
	if controllerutil.ContainsFinalizer(found, workv1alpha1.ManifestWorkReplicaSetFinalizer) ||
		!controllerutil.ContainsFinalizer(found, "example.com/other") {
		t.Errorf("finalizers of the set are %v, want that of the other program alone", found.Finalizers)
	}
	definitions := kit.New(t, hub)
	if err := gone(definitions, placements)(t.Context()); err == nil {
		t.Error("the definition of placements is gone")
	}
}

// planned returns what an uninstallation would remove at the API server's side.
func planned(ctx context.Context, hub *hubtest.Hub) ([]uninstall.Step, error) {
	reader, err := uninstall.NewClient(hub.Config())
	if err != nil {
		return nil, err
	}
	return uninstall.Servers(ctx, reader)
}

func TestTheCommandOfTheJobRemovesServersOnly(t *testing.T) {
	hub := hubtest.New(t, hubtest.Options{})
	running := hubtest.StartManager(t, hub, hubtest.ManagerOptions{Webhooks: true})
	kit.Await(t, "the webhooks are registered", func(ctx context.Context) error {
		steps, err := planned(ctx, hub)
		if err != nil || len(steps) < 2 {
			return fmt.Errorf("the webhooks are not registered: %v, %w", steps, err)
		}
		return nil
	})
	running.Stop()
	output := mustRun(t, hub, manager, "uninstall")
	if !strings.Contains(output, "delete ValidatingWebhookConfiguration berth\n") || strings.Contains(output, "ValidatingAdmissionPolicy") {
		t.Errorf("want the webhooks and no policy to go:\n%s", output)
	}
	admin := kit.New(t, hub)
	if err := admin.Create(t.Context(), kit.AcceptedCluster("after")); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Errorf("a write that the webhooks guarded: %v", err)
	}
}
