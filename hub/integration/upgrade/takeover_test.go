package upgrade

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/berth-project/berth/config"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/install/takeover"
)

const (
	controllersNamespace = "open-cluster-management-hub"
	workController       = "cluster-manager-work-controller"
)

var (
	configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	pods       = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

	errWorksLeft = errors.New("not adopted yet")
)

// ocmHub is a hub on which the controllers of Open Cluster Management run, as far as the hub sees them.
type ocmHub struct {
	*testing.T
	hub *hubtest.Hub
	to  dynamic.Interface
}

// newOCMHub stores the fleet of testdata/ocm.yaml, four clusters, and a work of each selected one.
func newOCMHub(t *testing.T) ocmHub {
	t.Helper()
	manifests := kit.Must(hubtest.Merge(map[string]fs.FS{"delivery": config.Delivery(), "registration": config.Registration()})).In(t)
	h := ocmHub{T: t, hub: hubtest.New(t, hubtest.Options{Manifests: manifests})}
	h.to = newClient(t, h.hub)
	text := kit.Must(os.ReadFile("testdata/ocm.yaml")).In(t)
	for _, name := range []string{"ocm-1", "ocm-2", "ocm-3", "ocm-4"} {
		text = fmt.Appendf(text, "---\n"+clusterOfOCM, name)
	}
	for _, name := range []string{"ocm-2", "ocm-4"} {
		text = fmt.Appendf(text, "---\n"+workOfOCM, name)
	}
	var objects []*unstructured.Unstructured
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		object := &unstructured.Unstructured{}
		kit.NoError(t, yaml.Unmarshal([]byte(document), &object.Object))
		objects = append(objects, object)
	}
	load(t, h.to, objects)
	storeControllers(t, h.to, workController)
	return h
}

const (
	clusterOfOCM = `apiVersion: v1
kind: Namespace
metadata: {name: %[1]s, labels: {open-cluster-management.io/cluster-name: %[1]s}}
---
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: %[1]s, labels: {cluster.open-cluster-management.io/clusterset: retail}}
spec: {hubAcceptsClient: true, leaseDurationSeconds: 60}
status:
  conditions:
  - {type: HubAcceptedManagedCluster, status: "True", reason: HubClusterAdminAccepted, message: Accepted by hub cluster admin, lastTransitionTime: "2026-11-01T10:00:00Z"}
`
	workOfOCM = `apiVersion: work.open-cluster-management.io/v1
kind: ManifestWork
metadata:
  namespace: %[1]s
  name: webx7f2k
  generateName: web
  labels: {work.open-cluster-management.io/manifestworkreplicaset: shop.web, work.open-cluster-management.io/placementname: two}
spec: {workload: {manifests: [{apiVersion: v1, kind: ConfigMap, metadata: {namespace: default, name: web}, data: {value: "1"}}]}}
`
)

// plugin runs a command of the plugin, and returns what it printed and its exit code.
func (h ocmHub) plugin(ctx context.Context, args ...string) (printed string, code int) {
	h.Helper()
	binary, err := hubtest.PluginBinary()
	if err != nil {
		h.Fatal(err)
	}
	output, err := exec.CommandContext(ctx, binary, append([]string{"--kubeconfig", h.hub.Kubeconfig()}, args...)...).CombinedOutput()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return string(output), exit.ExitCode()
	}
	if err != nil {
		h.Fatal(err)
	}
	return string(output), 0
}

// expect runs a command of the plugin, and requires its exit code and parts of its output.
func (h ocmHub) expect(code int, parts []string, args ...string) {
	h.Helper()
	printed, got := h.plugin(h.Context(), args...)
	for _, part := range parts {
		if !strings.Contains(printed, part) {
			h.Errorf("kubectl berth %s did not print %q", strings.Join(args, " "), part)
		}
	}
	if got != code || h.Failed() {
		h.Fatalf("kubectl berth %s: exit code %d, want %d:\n%s", strings.Join(args, " "), got, code, printed)
	}
}

// replicas returns the replicas of the controllers.
func (h ocmHub) replicas() map[string]int64 {
	h.Helper()
	list, err := h.to.Resource(deployments).List(h.Context(), metav1.ListOptions{})
	if err != nil {
		h.Fatal(err)
	}
	out := map[string]int64{}
	for _, deployment := range list.Items {
		out[deployment.GetName()], _, _ = unstructured.NestedInt64(deployment.Object, "spec", "replicas")
	}
	return out
}

func (h ocmHub) requireReplicas(each int64) {
	h.Helper()
	want := map[string]int64{}
	for _, name := range append([]string{"cluster-manager", workController}, "cluster-manager-placement-controller",
		"cluster-manager-registration-controller") {
		want[name] = each
	}
	if diff := cmp.Diff(want, h.replicas()); diff != "" {
		h.Fatalf("replicas (-want +got):\n%s", diff)
	}
}

// hasRecord returns whether the hub has a record of a takeover.
func (h ocmHub) hasRecord() bool {
	h.Helper()
	_, err := h.to.Resource(configMaps).Namespace(controllersNamespace).Get(h.Context(), "berth-takeover", metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		h.Fatal(err)
	}
	return err == nil
}

// TestTakeover takes a hub over from the controllers of Open Cluster Management, verifies it, and gives it back.
func TestTakeover(t *testing.T) {
	h := newOCMHub(t)
	h.requireSameInPages()
	h.expect(0, []string{
		"would scale Deployment open-cluster-management/cluster-manager from 3 to 0",
		"would scale Deployment " + controllersNamespace + "/" + workController,
		"4 controllers. This was a dry run",
	}, "takeover")
	h.requireReplicas(3)
	h.expect(2, []string{"no record of a takeover"}, "takeover", "verify")
	h.expect(0, []string{"its pods have ended", "2 decisions and 2 works recorded"}, "takeover", "--yes")
	h.requireReplicas(0)
	h.expect(0, []string{"Everything that conflicts with Berth is off"}, "takeover")
	h.expect(1, []string{"2 placements, 0 moved", "not decided by Berth: placement shop/grouped"}, "takeover", "verify", "--timeout=1s")

	before, watched := h.works(), watchSlices(t, h.to)
	manager := hubtest.StartManager(t, h.hub, hubtest.ManagerOptions{
		Args: []string{"--controllers=*,acceptance,csr,addon,replicaset", "--leader-elect"},
	})
	h.expect(0, []string{"2 placements, 0 moved", "2 works, 0 namespaces changed"}, "takeover", "verify")
	kit.AwaitWithin(t, testTimeout, "the takeover is complete", h.requireAdopted)
	if diff := cmp.Diff(before, h.works()); diff != "" {
		t.Errorf("the works changed (-before +after):\n%s", diff)
	}
	h.expect(0, []string{"2 placements, 0 moved", "2 works, 0 namespaces changed"}, "takeover", "verify")
	if moved := watched.changedSlices(); len(moved) > 0 {
		t.Errorf("decisions moved:\n%s", strings.Join(moved, "\n"))
	}

	t.Log("a cluster leaves the set: verify names the placements that move")
	patch(t, h.to.Resource(clusters), "ocm-2", `{"metadata":{"labels":{"cluster.open-cluster-management.io/clusterset":"default"}}}`)
	kit.AwaitWithin(t, testTimeout, "the command reports the changed placement", func(ctx context.Context) error {
		printed, code := h.plugin(ctx, "takeover", "verify")
		if code != 1 || !strings.Contains(printed, "placement shop/grouped: 3 clusters, 4 before") {
			return fmt.Errorf("exit code %d: %s: %w", code, printed, errWorksLeft)
		}
		return nil
	})

	t.Log("back again")
	h.expect(0, []string{"would scale Deployment open-cluster-management/cluster-manager to 3", "dry run"}, "takeover", "undo")
	h.expect(2, []string{"holds the lease"}, "takeover", "undo", "--yes")
	h.requireReplicas(0)
	manager.Stop()
	h.expect(0, []string{"Deployment open-cluster-management/cluster-manager: scaled to 3"}, "takeover", "undo", "--yes")
	h.requireReplicas(3)
	if h.hasRecord() {
		t.Error("the record is left")
	}
}

// works returns the UID and generation of each work.
func (h ocmHub) works() map[string]string {
	h.Helper()
	list, err := h.to.Resource(works).List(h.Context(), metav1.ListOptions{})
	if err != nil {
		h.Fatal(err)
	}
	out := map[string]string{}
	for _, work := range list.Items {
		out[work.GetNamespace()+"/"+work.GetName()] = fmt.Sprint(work.GetUID(), work.GetGeneration())
	}
	return out
}

// requireAdopted requires that Berth's controller of sets has taken the works over.
func (h ocmHub) requireAdopted(ctx context.Context) error {
	list, err := h.to.Resource(works).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, work := range list.Items {
		if work.GetAnnotations()["berth-project.io/owner-uid"] == "" {
			return fmt.Errorf("work %s/%s: %w", work.GetNamespace(), work.GetName(), errWorksLeft)
		}
	}
	return nil
}

// onePages reads each list page by page, with one object a page.
type onePages struct{ client.Reader }

func (p onePages) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	return p.Reader.List(ctx, list, append(options, client.Limit(1))...)
}

// requireSameInPages requires that a state of many pages is that of one page.
func (h ocmHub) requireSameInPages() {
	h.Helper()
	reader, err := takeover.NewClient(h.hub.Config())
	if err != nil {
		h.Fatal(err)
	}
	want, err := takeover.ReadState(h.Context(), reader)
	if err != nil {
		h.Fatal(err)
	}
	got, err := takeover.ReadState(h.Context(), onePages{reader})
	if err != nil {
		h.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		h.Errorf("in pages of one object (-want +got):\n%s", diff)
	}
}

// TestATakeoverIsBlockedByWhatBerthWouldNotTake has a namespace with the name of a cluster that is not the cluster's.
func TestATakeoverIsBlockedByWhatBerthWouldNotTake(t *testing.T) {
	h := newOCMHub(t)
	patch(t, h.to.Resource(namespaces), "ocm-3", `{"metadata":{"labels":{"open-cluster-management.io/cluster-name":null}}}`)
	h.expect(1, []string{"1. namespaces: ocm-3", "1 step left before a takeover"}, "takeover", "--yes")
	h.requireReplicas(3)
	if h.hasRecord() {
		t.Error("a blocked takeover left a record")
	}
}
