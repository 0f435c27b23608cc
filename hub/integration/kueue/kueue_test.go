// Package kueue tests the bridge from placements to Kueue's MultiKueue on a real hub, with the permissions of config/kueue. The definitions
// have the fields and rules of Kueue's that the bridge depends on; Kueue itself is in no module.
package kueue

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/config"
	"github.com/berth-project/berth/hub/hubtest"
)

const (
	// testTimeout is far longer than any wait of the tests on an idle machine.
	testTimeout = time.Minute
	namespace   = "kueue-system"
)

var (
	shared *hubtest.Hub

	errNotYet = errors.New("not yet")
)

func TestMain(m *testing.M) {
	definitions, err := os.ReadFile("../../../examples/how-to/kueue-definitions.yaml")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	manifests, err := hubtest.Merge(map[string]fs.FS{
		"kueue": config.Kueue(), "definitions": fstest.MapFS{"definitions.yaml": {Data: definitions}},
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(hubtest.Main(m, &shared, hubtest.Options{Manifests: manifests}))
}

// bridge is a hub with Kueue's definitions, four clusters and a manager.
type bridge struct {
	*testing.T
	client.Client
}

// newBridge starts a manager on a fleet with a check for placement gpu.
func newBridge(t *testing.T) bridge {
	t.Helper()
	b := bridge{t, hubtest.NewClient(t, shared.Config())}
	binding := &clusterv1beta2.ManagedClusterSetBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "batch"}}
	binding.Spec.ClusterSet = "batch"
	b.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	b.create(&clusterv1beta2.ManagedClusterSet{ObjectMeta: metav1.ObjectMeta{Name: "batch"}})
	b.create(binding)
	for i := range 4 {
		b.create(&clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("c%d", i), Labels: map[string]string{clusterv1beta2.ClusterSetLabel: "batch", "gpu": "yes"},
		}})
	}
	gpu := &clusterv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "gpu"}}
	gpu.Spec.Predicates = []clusterv1beta1.ClusterPredicate{{RequiredClusterSelector: clusterv1beta1.ClusterSelector{
		LabelSelector: metav1.LabelSelector{MatchLabels: map[string]string{"gpu": "yes"}},
	}}}
	b.create(gpu)
	b.create(newCheck("gpu-clusters", "gpu"))
	hubtest.StartManager(t, shared, hubtest.ManagerOptions{Args: []string{"--controllers=*,kueue"}})
	return b
}

func newCheck(name, placement string) client.Object {
	out := newObject("AdmissionCheck", name)
	out.Object["spec"] = map[string]any{"controllerName": "open-cluster-management.io/placement", "parameters": map[string]any{
		"apiGroup": clusterv1beta1.GroupName, "kind": "Placement", "name": placement,
	}}
	return out
}

func newObject(kind, name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": map[string]any{"name": name}}}
}

func (b bridge) create(object client.Object) {
	b.Helper()
	if err := b.Create(b.Context(), object); client.IgnoreAlreadyExists(err) != nil {
		b.Fatal(err)
	}
}

// expect waits until a config lists these clusters, and the check has this status and reason.
func (b bridge) expect(placement, check string, active metav1.ConditionStatus, reason string, clusters ...string) {
	b.Helper()
	hubtest.Eventually(b.T, testTimeout, func(ctx context.Context) error {
		config := newObject("MultiKueueConfig", "")
		if err := b.Get(ctx, client.ObjectKey{Name: placement}, config); err != nil && (len(clusters) > 0 || !apierrors.IsNotFound(err)) {
			return err
		}
		got, _, _ := unstructured.NestedStringSlice(config.Object, "spec", "clusters")
		if !slices.Equal(got, clusters) {
			return fmt.Errorf("the config lists %v, want %v: %w", got, clusters, errNotYet)
		}
		stored := newObject("AdmissionCheck", "")
		if err := b.Get(ctx, client.ObjectKey{Name: check}, stored); err != nil {
			return err
		}
		conditions, _, _ := unstructured.NestedSlice(stored.Object, "status", "conditions")
		for _, each := range conditions {
			if condition, _ := each.(map[string]any); condition["type"] == "Active" && condition["status"] == string(active) && condition["reason"] == reason {
				return nil
			}
		}
		return fmt.Errorf("the check has %v, want Active %s %s: %w", conditions, active, reason, errNotYet)
	})
}

// awaitOwner waits until a check owns the config of placement gpu. The config was made before a second check, and goes on with it.
func (b bridge) awaitOwner(check string) {
	b.Helper()
	hubtest.Eventually(b.T, testTimeout, func(ctx context.Context) error {
		config := newObject("MultiKueueConfig", "")
		if err := b.Get(ctx, client.ObjectKey{Name: "gpu"}, config); err != nil {
			return err
		}
		owners := config.GetOwnerReferences()
		if !slices.ContainsFunc(owners, func(o metav1.OwnerReference) bool { return o.Name == check }) {
			return fmt.Errorf("the owners are %v: %w", owners, errNotYet)
		}
		return nil
	})
}

// label changes the label gpu of a cluster.
func (b bridge) label(cluster, value string) {
	b.Helper()
	target := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: cluster}}
	if err := b.Patch(b.Context(), target, client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"metadata":{"labels":{"gpu":%q}}}`, value))); err != nil {
		b.Fatal(err)
	}
}

// sources returns where Kueue finds each cluster.
func (b bridge) sources(ctx context.Context) map[string]string {
	b.Helper()
	list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "MultiKueueClusterList"}}
	if err := b.List(ctx, list); err != nil {
		b.Fatal(err)
	}
	out := map[string]string{}
	for _, item := range list.Items {
		secret, _, _ := unstructured.NestedString(item.Object, "spec", "clusterSource", "kubeConfig", "location")
		out[item.GetName()] = secret
	}
	return out
}

// TestAQueueGetsTheClustersOfAPlacement follows a placement: the list of a queue is never empty, and never of another client.
func TestAQueueGetsTheClustersOfAPlacement(t *testing.T) {
	b := newBridge(t)
	b.expect("gpu", "gpu-clusters", metav1.ConditionTrue, "Active", "c0", "c1", "c2", "c3")
	want := map[string]string{"c0": "c0-kubeconfig", "c1": "c1-kubeconfig", "c2": "c2-kubeconfig", "c3": "c3-kubeconfig"}
	if diff := cmp.Diff(want, b.sources(t.Context())); diff != "" {
		t.Errorf("the sources (-want +got):\n%s", diff)
	}

	t.Log("a cluster that an administrator made stays, and so does the cluster of another list")
	own := newObject("MultiKueueCluster", "own")
	own.Object["spec"] = map[string]any{"clusterSource": map[string]any{"kubeConfig": map[string]any{"location": "own"}}}
	b.create(own)
	other := newObject("MultiKueueConfig", "other")
	other.Object["spec"] = map[string]any{"clusters": []any{"c1"}}
	b.create(other)
	b.label("c0", "no")
	b.label("c1", "no")
	b.expect("gpu", "gpu-clusters", metav1.ConditionTrue, "Active", "c2", "c3")
	hubtest.Eventually(t, testTimeout, func(ctx context.Context) error {
		if got := slices.Sorted(maps.Keys(b.sources(ctx))); !slices.Equal(got, []string{"c1", "c2", "c3", "own"}) {
			return fmt.Errorf("the clusters are %v: %w", got, errNotYet)
		}
		return nil
	})

	t.Log("a decision that empties, and a placement that is deleted, keep the list")
	b.label("c2", "no")
	b.expect("gpu", "gpu-clusters", metav1.ConditionTrue, "Active", "c3")
	b.label("c3", "no")
	b.expect("gpu", "gpu-clusters", metav1.ConditionTrue, "ClustersKept", "c3")
	if err := b.Delete(t.Context(), &clusterv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "gpu"}}); err != nil {
		t.Fatal(err)
	}
	b.expect("gpu", "gpu-clusters", metav1.ConditionTrue, "ClustersKept", "c3")

	t.Log("a list stays while one of its checks does, and goes with the last, with the clusters that only it has")
	b.create(newCheck("second", "gpu"))
	b.expect("gpu", "second", metav1.ConditionTrue, "ClustersKept", "c3")
	b.awaitOwner("second")
	for _, name := range []string{"gpu-clusters", "second"} {
		if err := b.Delete(t.Context(), newObject("AdmissionCheck", name)); err != nil {
			t.Fatal(err)
		}
		if name == "gpu-clusters" {
			b.expect("gpu", "second", metav1.ConditionTrue, "ClustersKept", "c3")
		}
	}
	hubtest.Eventually(t, testTimeout, func(ctx context.Context) error {
		if err := b.Get(ctx, client.ObjectKey{Name: "gpu"}, newObject("MultiKueueConfig", "")); !apierrors.IsNotFound(err) {
			return fmt.Errorf("the config is left: %w: %w", errNotYet, err)
		}
		if got := slices.Sorted(maps.Keys(b.sources(ctx))); !slices.Equal(got, []string{"c1", "own"}) {
			return fmt.Errorf("the clusters are %v: %w", got, errNotYet)
		}
		return nil
	})

	t.Log("a list of another client stays")
	b.create(newCheck("others", "other"))
	b.expect("other", "others", metav1.ConditionFalse, "ConfigNotOwned", "c1")
	b.create(newCheck("missing", "nowhere"))
	b.expect("nowhere", "missing", metav1.ConditionFalse, "PlacementNotFound")
}
