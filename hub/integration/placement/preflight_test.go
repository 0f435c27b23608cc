package placement

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/retry"

	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// awaitFailure waits for a manager that must fail, and checks the reason.
func awaitFailure(t *testing.T, m *manager, wants ...string) {
	t.Helper()
	if code := m.WaitExit(t); code != 1 {
		t.Errorf("ended with code %d, want 1", code)
	}
	for _, want := range wants {
		if log := m.Log(); !strings.Contains(log, want) {
			t.Errorf("log %q, want %q in it", log, want)
		}
	}
	if strings.Contains(m.Log(), "goroutine ") {
		t.Errorf("log %q, want no stack trace", m.Log())
	}
}

// TestManagerRefusesIncompleteHub removes fields, versions and definitions from a separate hub.
func TestManagerRefusesIncompleteHub(t *testing.T) {
	steady.Stop(t)
	hub := hubtest.New(t, hubtest.Options{})
	config := hub.WriteKubeconfig(t, hub.ManagerConfig(t))
	client := kit.Must(dynamic.NewForConfig(hub.Config())).In(t)
	definitions := client.Resource(schema.GroupVersionResource{
		Group: "apiextensions.k8s.io", Version: "v1",
		Resource: "customresourcedefinitions",
	})
	// each changes the last version of a definition.
	prune := func(resource string, apply func(version map[string]any)) {
		t.Helper()
		kit.NoError(t, retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			definition, err := definitions.Get(t.Context(), resource+".cluster.open-cluster-management.io", metav1.GetOptions{})
			if err != nil {
				return err
			}
			versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
			apply(versions[len(versions)-1].(map[string]any))
			if err := unstructured.SetNestedSlice(definition.Object, versions, "spec", "versions"); err != nil {
				return err
			}
			_, err = definitions.Update(t.Context(), definition, metav1.UpdateOptions{})
			return err
		}))
	}
	drop := func(resource string, path ...string) {
		t.Helper()
		prune(resource, func(version map[string]any) {
			full := []string{"schema", "openAPIV3Schema"}
			for _, name := range path {
				full = append(full, "properties", name)
			}
			if _, found, _ := unstructured.NestedFieldNoCopy(version, full...); !found {
				t.Fatalf("there is no %v to drop from %s", path, resource)
			}
			unstructured.RemoveNestedField(version, full...)
		})
	}
	manage := func() *manager { return launch(t, options{Kubeconfig: config}) }

	drop("managedclusters", "status", "allocatable")
	awaitFailure(t, manage(), "the hub lacks field status.allocatable in v1 of managedclusters.cluster.open-cluster-management.io",
		"apply the definitions in config/crd")

	prune("managedclustersets", func(version map[string]any) { version["served"] = false })
	awaitFailure(t, manage(), "field status.allocatable in v1", "version v1beta2 of managedclustersets.cluster.open-cluster-management.io")

	kit.New(t, hub).MustDeleteDefinition("addonplacementscores.cluster.open-cluster-management.io")
	kit.Await(t, "the definition is deleted", func(ctx context.Context) error {
		_, err := definitions.Get(ctx, "addonplacementscores.cluster.open-cluster-management.io", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("the definition is still there: %w", err)
	})
	awaitFailure(t, manage(),
		"field status.allocatable in v1", "version v1beta2 of managedclustersets",
		"the definition of addonplacementscores.cluster.open-cluster-management.io")
}

func TestManagerRefusesWrongOptions(t *testing.T) {
	cases := map[string]struct {
		args  []string
		wants []string
	}{
		"no workers":         {[]string{"--workers=0"}, []string{"--workers 0: must be 1 to 256"}},
		"two mistakes":       {[]string{"--log-format=xml", "--log-level=loud"}, []string{`--log-format "xml"`, `--log-level "loud"`}},
		"unknown controller": {[]string{"--controllers=*,-pacement"}, []string{`"-pacement": no such controller; there are`, "placement"}},
		"unknown flag":       {[]string{"--wrokers=3"}, []string{"unknown flag: --wrokers"}},
		"an argument":        {[]string{"now"}, []string{"now"}},
		"no kubeconfig":      {[]string{"--kubeconfig=/nowhere"}, []string{"/nowhere"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) { awaitFailure(t, launch(t, options{Args: tc.args}), tc.wants...) })
	}
}

// TestControllersThatAreOffDoNotRun starts managers with and without the placement controller, which registers its metrics when it is
// added.
func TestControllersThatAreOffDoNotRun(t *testing.T) {
	const metric = "scheduling_scheduling_duration_seconds"
	for flag, want := range map[string]bool{
		"*": true, "placement": true, "*,-placement": false, "-placement,*": false, "-placement": false,
	} {
		m := start(t, options{Args: []string{"--controllers=" + flag}})
		var read hubtest.Metrics
		kit.Await(t, "the manager serves its metrics", func(ctx context.Context) error {
			var err error
			read, err = m.ReadMetrics(ctx)
			return err
		})
		m.Stop()
		if got := len(read.Series(metric, `name="placement_scheduling"`)) > 0; got != want {
			t.Errorf("--controllers=%s: the placement controller runs: %v, want %v", flag, got, want)
		}
	}
}

// TestPermissionsSuffice checks that no request of the manager is denied.
func TestPermissionsSuffice(t *testing.T) {
	p, kubeconfig := newProxy(t)
	m := start(t, options{Kubeconfig: kubeconfig, Args: []string{"--leader-elect=true"}})
	f := newFleet(t, 2)
	f.placement("p")
	f.awaitSelected("p", f.upTo(2)...)
	f.MustDelete(f.object("p"))
	f.noSlices("p")
	m.Stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slices.ContainsFunc(p.calls, func(c call) bool { return strings.Contains(c.path, "/leases/berth-manager") }) {
		t.Error("the manager has not requested its lease")
	}
	for _, c := range p.calls {
		if c.code == http.StatusForbidden || c.code == http.StatusUnauthorized {
			t.Errorf("refused: %+v", c)
		}
	}
}
