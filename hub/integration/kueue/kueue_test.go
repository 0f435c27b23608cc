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
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	multiclusterv1alpha1 "github.com/berth-project/berth/api/multicluster/v1alpha1"
	"github.com/berth-project/berth/config"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/checkout"
)

const namespace = "kueue-system"

var (
	shared *hubtest.Hub

	errNotYet = errors.New("not yet")
)

func TestMain(m *testing.M) {
	path, err := checkout.Find("examples/how-to/kueue-definitions.yaml")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	definitions, err := os.ReadFile(path)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	manifests, err := hubtest.Merge(map[string]fs.FS{
		"kueue": config.Kueue(), "profile": config.Profile(), "definitions": fstest.MapFS{"definitions.yaml": {Data: definitions}},
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
	*kit.Client
}

// newBridge starts a manager with these flags on a fleet whose clusters have a label, with a check for a placement that selects them.
func newBridge(t *testing.T, placement, prefix string, flags ...string) bridge {
	t.Helper()
	b := bridge{t, kit.New(t, shared)}
	binding := kit.Binding(namespace, "batch")
	b.MustCreateMissing(kit.Namespace(namespace), kit.Set("batch"), binding)
	for i := range 4 {
		b.MustCreateMissing(newCluster(fmt.Sprintf("%s%d", prefix, i), placement))
	}
	b.MustCreateMissing(newPlacement(placement, placement), newCheck(placement+"-clusters", placement))
	hubtest.StartManager(t, shared, hubtest.ManagerOptions{Args: flags})
	return b
}

func newCluster(name, label string) client.Object {
	return kit.Cluster(name, clusterv1beta2.ClusterSetLabel, "batch", label, "yes")
}

// newPlacement returns a placement that selects the clusters with a label.
func newPlacement(name, label string) client.Object {
	out := kit.Placement(namespace, name)
	out.Spec.Predicates = []clusterv1beta1.ClusterPredicate{{RequiredClusterSelector: clusterv1beta1.ClusterSelector{
		LabelSelector: metav1.LabelSelector{MatchLabels: map[string]string{label: "yes"}},
	}}}
	return out
}

func newCheck(name, placement string) client.Object {
	out := newObject("AdmissionCheck", name)
	out.Object["spec"] = map[string]any{"controllerName": "open-cluster-management.io/placement", "parameters": map[string]any{
		"apiGroup": clusterv1beta1.GroupName, "kind": "Placement", "name": placement,
	}}
	return out
}

func newObject(kind, name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind,
		"metadata": map[string]any{"name": name},
	}}
}

// expect waits until a config lists these clusters, and the check has this status, this reason and a message with this part.
func (b bridge) expect(placement, check string, active metav1.ConditionStatus, reason, message string, clusters ...string) {
	b.Helper()
	kit.Await(b.T, "a config lists these clusters, and the check has this status, this reason and a message with this part",
		func(ctx context.Context) error {
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
				condition, _ := each.(map[string]any)
				text, _ := condition["message"].(string)
				if condition["type"] == "Active" && condition["status"] == string(active) && condition["reason"] == reason &&
					strings.Contains(text, message) {
					return nil
				}
			}
			return fmt.Errorf("the check has %v, want Active %s %s %q: %w", conditions, active, reason, message, errNotYet)
		})
}

// awaitOwners waits until these checks own the config of a placement, and no other.
func (b bridge) awaitOwners(placement string, checks ...string) {
	b.Helper()
	kit.Await(b.T, "these checks own the config of a placement, and no other", func(ctx context.Context) error {
		config := newObject("MultiKueueConfig", "")
		if err := b.Get(ctx, client.ObjectKey{Name: placement}, config); err != nil {
			return err
		}
		var owners []string
		for _, owner := range config.GetOwnerReferences() {
			owners = append(owners, owner.Name)
		}
		if slices.Sort(owners); !slices.Equal(owners, checks) {
			return fmt.Errorf("the owners are %v: %w", owners, errNotYet)
		}
		return nil
	})
}

// awaitGone waits until no config is named after a placement.
func (b bridge) awaitGone(placement string) {
	b.Helper()
	kit.Await(b.T, "no config is named after a placement", func(ctx context.Context) error {
		if err := b.Get(ctx, client.ObjectKey{Name: placement}, newObject("MultiKueueConfig", "")); !apierrors.IsNotFound(err) {
			return fmt.Errorf("the config is left: %w: %w", errNotYet, err)
		}
		return nil
	})
}

// awaitClusters waits until Kueue has these clusters.
func (b bridge) awaitClusters(want ...string) {
	b.Helper()
	kit.Await(b.T, "Kueue has these clusters", func(ctx context.Context) error {
		if got := slices.Sorted(maps.Keys(b.sources(ctx))); !slices.Equal(got, want) {
			return fmt.Errorf("the clusters are %v: %w", got, errNotYet)
		}
		return nil
	})
}

// rename changes the placement that a check names.
func (b bridge) rename(check, placement string) {
	b.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"parameters":{"name":%q}}}`, placement)
	b.MustPatch(newObject("AdmissionCheck", check), client.RawPatch(types.MergePatchType, patch))
}

// label changes the label gpu of a cluster.
func (b bridge) label(cluster, value string) {
	b.Helper()
	target := kit.Cluster(cluster)
	b.MustMerge(target, fmt.Sprintf(`{"metadata":{"labels":{"gpu":%q}}}`, value))
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
		profile, _, _ := unstructured.NestedString(item.Object, "spec", "clusterSource", "clusterProfileRef", "name")
		if out[item.GetName()] = secret; profile != "" {
			out[item.GetName()] = "profile " + profile
		}
	}
	return out
}

// TestAQueueGetsTheClustersOfAPlacement follows a placement: the list of a queue is never empty, and never of another client.
func TestAQueueGetsTheClustersOfAPlacement(t *testing.T) {
	b := newBridge(t, "gpu", "c", "--controllers=*,kueue")
	b.expect("gpu", "gpu-clusters", metav1.ConditionTrue, "Active", "selects 4 clusters", "c0", "c1", "c2", "c3")
	want := map[string]string{"c0": "c0-kubeconfig", "c1": "c1-kubeconfig", "c2": "c2-kubeconfig", "c3": "c3-kubeconfig"}
	if diff := cmp.Diff(want, b.sources(t.Context())); diff != "" {
		t.Errorf("the sources (-want +got):\n%s", diff)
	}

	t.Log("a cluster that an administrator made stays, and so does the cluster of another list")
	own := newObject("MultiKueueCluster", "own")
	own.Object["spec"] = map[string]any{"clusterSource": map[string]any{"kubeConfig": map[string]any{"location": "own"}}}
	b.MustCreateMissing(own)
	other := newObject("MultiKueueConfig", "other")
	other.Object["spec"] = map[string]any{"clusters": []any{"c1"}}
	b.MustCreateMissing(other)
	b.label("c0", "no")
	b.label("c1", "no")
	b.expect("gpu", "gpu-clusters", metav1.ConditionTrue, "Active", "selects 2 clusters", "c2", "c3")
	b.awaitClusters("c1", "c2", "c3", "own")

	t.Log("a cluster that another client deletes is made again")
	b.MustDelete(newObject("MultiKueueCluster", "c3"))
	b.awaitClusters("c1", "c2", "c3", "own")

	t.Log("a decision that empties, and a placement that is deleted, keep the list")
	b.label("c2", "no")
	b.expect("gpu", "gpu-clusters", metav1.ConditionTrue, "Active", "selects 1 clusters", "c3")
	b.label("c3", "no")
	b.expect("gpu", "gpu-clusters", metav1.ConditionTrue, "ClustersKept", "selects no cluster", "c3")
	b.MustDelete(kit.Placement(namespace, "gpu"))
	b.expect("gpu", "gpu-clusters", metav1.ConditionTrue, "ClustersKept", "placement gpu does not exist", "c3")

	t.Log("a list stays while one of its checks does, and goes with the last, with the clusters that only it has")
	b.MustCreateMissing(newCheck("second", "gpu"))
	b.expect("gpu", "second", metav1.ConditionTrue, "ClustersKept", "placement gpu does not exist", "c3")
	b.awaitOwners("gpu", "gpu-clusters", "second")
	b.MustDelete(newObject("AdmissionCheck", "gpu-clusters"))
	b.awaitOwners("gpu", "second")
	b.expect("gpu", "second", metav1.ConditionTrue, "ClustersKept", "placement gpu does not exist", "c3")
	b.MustDelete(newObject("AdmissionCheck", "second"))
	b.awaitGone("gpu")
	b.awaitClusters("c1", "own")

	t.Log("a list of another client stays")
	b.MustCreateMissing(newCheck("others", "other"))
	b.expect("other", "others", metav1.ConditionFalse, "ConfigNotOwned", "MultiKueueConfig other was not made for a placement", "c1")
	b.MustCreateMissing(newCheck("missing", "nowhere"))
	b.expect("nowhere", "missing", metav1.ConditionFalse, "PlacementNotFound", "placement nowhere does not exist")
}

// TestAClusterWaitsForItsProfile starts the controllers of profiles and of lists at once: every cluster has the source that the flag names,
// whichever is faster, and the profile of another cluster manager is never used.
func TestAClusterWaitsForItsProfile(t *testing.T) {
	theirs := &multiclusterv1alpha1.ClusterProfile{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "p2"}}
	theirs.Spec.ClusterManager.Name = "theirs"
	early := bridge{t, kit.New(t, shared)}
	early.MustCreateMissing(kit.Namespace(namespace), theirs)
	b := newBridge(t, "batch", "p", "--controllers=*,profile,kueue", "--kueue-source=ClusterProfile")
	b.expect("batch", "batch-clusters", metav1.ConditionTrue, "Active",
		"1 of them lack a ClusterProfile of their own in namespace kueue-system: p2", "p0", "p1", "p3")
	b.MustCreateMissing(newCluster("p4", "batch"))
	b.expect("batch", "batch-clusters", metav1.ConditionTrue, "Active", "selects 5 clusters", "p0", "p1", "p3", "p4")
	b.MustDelete(theirs)
	b.expect("batch", "batch-clusters", metav1.ConditionTrue, "Active", "selects 5 clusters", "p0", "p1", "p2", "p3", "p4")
	sources := b.sources(t.Context())
	for _, name := range []string{"p0", "p1", "p2", "p3", "p4"} {
		if sources[name] != "profile "+name {
			t.Errorf("the source of %s is %q", name, sources[name])
		}
	}
}

// TestACheckChangesItsPlacement changes the parameters of one of two checks, and then of the other.
func TestACheckChangesItsPlacement(t *testing.T) {
	b := newBridge(t, "first", "d", "--controllers=*,kueue")
	b.MustCreateMissing(newCheck("beside", "first"))
	b.expect("first", "first-clusters", metav1.ConditionTrue, "Active", "selects 4 clusters", "d0", "d1", "d2", "d3")
	b.awaitOwners("first", "beside", "first-clusters")
	b.MustCreateMissing(newPlacement("next", "first"))

	t.Log("the list stays with the other check")
	b.rename("first-clusters", "next")
	b.expect("next", "first-clusters", metav1.ConditionTrue, "Active", "selects 4 clusters", "d0", "d1", "d2", "d3")
	b.awaitOwners("first", "beside")

	t.Log("a wrong name evicts nothing: the list stays until the check has another")
	b.rename("beside", "wrong")
	b.expect("wrong", "beside", metav1.ConditionFalse, "PlacementNotFound", "placement wrong does not exist")
	b.awaitOwners("first", "beside")
	b.rename("beside", "next")
	b.awaitGone("first")
	b.awaitOwners("next", "beside", "first-clusters")
}
