package delivery

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/decision"
	"github.com/berth-project/berth/internal/delivery/plan"
)

// TestAnImportedClusterGetsNoWork deletes an imported cluster that a decision still has, and makes it anew with an agent.
func TestAnImportedClusterGetsNoWork(t *testing.T) {
	kinds := runtime.NewScheme()
	if err := clusterv1.AddToScheme(kinds); err != nil {
		t.Fatal(err)
	}
	imported := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{
		Name:        "a",
		Annotations: map[string]string{clusterv1.InventoryProfileAnnotationKey: "fleet/a"},
	}}
	agents := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: "b"}}
	hub := fake.NewClientBuilder().WithScheme(kinds).WithObjects(imported, agents).WithIndex(&clusterv1.ManagedCluster{}, importedIndex,
		indexImported).Build()
	slice := &clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{
		Labels: map[string]string{clusterv1beta1.DecisionGroupIndexLabel: "0"},
	}}
	slice.Status.Decisions = []clusterv1beta1.ClusterDecision{{ClusterName: "a"}, {ClusterName: "b"}}
	in := &plan.Input{Placements: map[string]plan.Placement{"web": {Decisions: decision.Of(slice)}}}
	r, s := &reconciler{client: hub}, newSetState()
	expect := func(when string, want map[string]string) {
		t.Helper()
		got, err := r.undeliverable(t.Context(), s, in)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	expect("while it is imported", map[string]string{"a": importedReason})
	if err := hub.Delete(t.Context(), imported); err != nil {
		t.Fatal(err)
	}
	expect("while the decision has it", map[string]string{"a": importedReason})
	if err := hub.Create(t.Context(), &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: "a"}}); err != nil {
		t.Fatal(err)
	}
	expect("with an agent", map[string]string{})
}
