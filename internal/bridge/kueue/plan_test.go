package kueue

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
)

// decided returns a placement with a complete decision, and its slice.
func decided(clusters ...clusterv1beta1.ClusterDecision) (*clusterv1beta1.Placement, []*clusterv1beta1.PlacementDecision) {
	placement := &clusterv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: "kueue-system", Name: "gpu", Generation: 1}}
	placement.Status = clusterv1beta1.PlacementStatus{
		NumberOfSelectedClusters: int32(len(clusters)),
		DecisionGroups: []clusterv1beta1.DecisionGroupStatus{
			{Decisions: []string{"gpu-decision-1"}, ClustersCount: int32(len(clusters))},
		},
		Conditions: []metav1.Condition{{Type: clusterv1beta1.PlacementConditionSatisfied, ObservedGeneration: 1}},
	}
	slice := &clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{
		Namespace: "kueue-system", Name: "gpu-decision-1",
		Labels: map[string]string{
			clusterv1beta1.PlacementLabel: "gpu", clusterv1beta1.DecisionGroupIndexLabel: "0", clusterv1beta1.DecisionGroupNameLabel: "",
		},
	}}
	slice.Status.Decisions = clusters
	return placement, []*clusterv1beta1.PlacementDecision{slice}
}

func chosen(name string, score int64) clusterv1beta1.ClusterDecision {
	return clusterv1beta1.ClusterDecision{ClusterName: name, Score: score}
}

// config returns the stored list of the placement.
func config(clusters ...string) *unstructured.Unstructured {
	out := object(configKind)
	out.SetName("gpu")
	out.SetLabels(map[string]string{PlacementLabel: "gpu"})
	if err := unstructured.SetNestedStringSlice(out.Object, clusters, "spec", "clusters"); err != nil {
		panic(err)
	}
	return out
}

func TestPlan(t *testing.T) {
	three, slices := decided(chosen("a", 1), chosen("b", 3), chosen("c", 3))
	none, empty := decided()
	stale := three.DeepCopy()
	stale.Generation = 2
	foreign := config("x")
	foreign.SetLabels(nil)
	for sentence, test := range map[string]struct {
		in      input
		want    []string
		active  metav1.ConditionStatus
		reason  string
		message string
	}{
		"clusters come by score and name": {
			in: input{name: "gpu", placement: three, slices: slices}, want: []string{"b", "c", "a"}, active: metav1.ConditionTrue,
			reason: reasonActive, message: "selects 3 clusters",
		},
		"parameters of another kind": {in: input{}, active: metav1.ConditionFalse, reason: reasonBadParameters, message: "must name a Placement"},
		"a config of another client": {
			in: input{name: "gpu", placement: three, slices: slices, config: foreign}, active: metav1.ConditionFalse, reason: reasonForeign,
			message: "MultiKueueConfig gpu was not made for a placement",
		},
		"a placement that is gone keeps the clusters": {
			in: input{name: "gpu", config: config("a")}, want: []string{"a"}, active: metav1.ConditionTrue, reason: reasonKept,
			message: "placement gpu does not exist; the last clusters stay: a",
		},
		"a placement that was never there": {
			in: input{name: "gpu"}, active: metav1.ConditionFalse, reason: reasonNoPlacement,
			message: "does not exist",
		},
		"a decision that empties keeps the clusters": {
			in: input{name: "gpu", placement: none, slices: empty, config: config("a", "b")}, want: []string{"a", "b"}, active: metav1.ConditionTrue,
			reason: reasonKept, message: "selects no cluster; the last clusters stay: a, b",
		},
		"an empty decision without a config": {
			in: input{name: "gpu", placement: none, slices: empty}, active: metav1.ConditionFalse,
			reason: reasonNoClusters, message: "selects no cluster",
		},
		"a decision that is not complete": {
			in: input{name: "gpu", placement: stale, slices: slices, config: config("z")}, want: []string{"z"}, active: metav1.ConditionTrue,
			reason: reasonKept, message: "generation 2 is not decided yet",
		},
		"a cluster without a profile waits, and the cluster that Kueue has stays": {
			in:   input{name: "gpu", namespace: "kueue-system", placement: three, slices: slices, stored: sets.New("a"), profiles: sets.New("c")},
			want: []string{"c", "a"}, active: metav1.ConditionTrue, reason: reasonActive,
			message: "selects 3 clusters; 1 of them lack a ClusterProfile of their own in namespace kueue-system: b",
		},
		"no cluster has a profile": {
			in: input{name: "gpu", placement: three, slices: slices, profiles: sets.New("x"), config: config("z")}, want: []string{"z"},
			active: metav1.ConditionTrue, reason: reasonKept,
			message: "3 of them lack a ClusterProfile",
		},
		"a slice that is not listed yet": {
			in: input{name: "gpu", placement: three, config: config("z")}, want: []string{"z"}, active: metav1.ConditionTrue, reason: reasonKept,
			message: "the last clusters stay: z",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := plan(test.in)
			if diff := cmp.Diff(test.want, got.clusters); diff != "" {
				t.Errorf("clusters (-want +got):\n%s", diff)
			}
			if got.active != test.active || got.reason != test.reason || !strings.Contains(got.message, test.message) {
				t.Errorf("%s %s %q, want %s %s %q", got.active, got.reason, got.message, test.active, test.reason, test.message)
			}
		})
	}
}

func TestAListHasNoMoreClustersThanKueueTakes(t *testing.T) {
	var all []clusterv1beta1.ClusterDecision
	for i := range 25 {
		all = append(all, chosen(fmt.Sprintf("c%02d", i), int64(i)))
	}
	placement, slices := decided(all...)
	got := plan(input{name: "gpu", placement: placement, slices: slices})
	if len(got.clusters) != maxClusters || got.clusters[0] != "c24" || got.clusters[19] != "c05" ||
		!strings.Contains(got.message, "; 20 are used") {
		t.Errorf("%v %q, want the 20 with the highest scores", got.clusters, got.message)
	}
}

func TestAListedClusterStaysWhileItIsSelected(t *testing.T) {
	var all []clusterv1beta1.ClusterDecision
	var listed []string
	for i := range 25 {
		name := fmt.Sprintf("c%02d", i)
		all = append(all, chosen(name, 0))
		if i > 0 && i <= maxClusters {
			listed = append(listed, name)
		}
	}
	placement, slices := decided(all...)
	got := plan(input{name: "gpu", placement: placement, slices: slices, config: config(listed...)})
	if diff := cmp.Diff(listed, got.clusters); diff != "" {
		t.Errorf("with a newcomer of a higher rank (-want +got):\n%s", diff)
	}
	placement, slices = decided(all[:20]...)
	got = plan(input{name: "gpu", placement: placement, slices: slices, config: config(listed...)})
	if diff := cmp.Diff(append([]string{"c00"}, listed[:19]...), got.clusters); diff != "" {
		t.Errorf("the newcomer fills the place of a cluster that is not selected any more (-want +got):\n%s", diff)
	}
}
