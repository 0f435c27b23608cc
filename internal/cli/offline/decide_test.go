package offline

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/internal/source/file"
)

// TestPlacementThatDoesNotCompile keeps its decisions: a hub may hold a placement from before a rule existed.
func TestPlacementThatDoesNotCompile(t *testing.T) {
	meta := func(namespace, name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name}
	}
	slice := &clusterv1beta1.PlacementDecision{ObjectMeta: meta("shop", "web-decision-1")}
	slice.Labels = map[string]string{clusterv1beta1.PlacementLabel: "web", clusterv1beta1.DecisionGroupIndexLabel: "0"}
	slice.Status.Decisions = []clusterv1beta1.ClusterDecision{{ClusterName: "a"}}
	set := &clusterv1beta2.ManagedClusterSet{ObjectMeta: meta("", "global")}
	set.Spec.ClusterSelector = clusterv1beta2.ManagedClusterSelector{
		SelectorType:  clusterv1beta2.LabelSelector,
		LabelSelector: &metav1.LabelSelector{},
	}
	placement := &clusterv1beta1.Placement{ObjectMeta: meta("shop", "web")}
	placement.Spec.NumberOfClusters = ptr.To[int32](-1)
	bundle, err := file.NewCompiledBundle(file.Objects{
		Clusters: []*clusterv1.ManagedCluster{{ObjectMeta: meta("", "a")}, {ObjectMeta: meta("", "b")}},
		Sets:     []*clusterv1beta2.ManagedClusterSet{set},
		Bindings: []*clusterv1beta2.ManagedClusterSetBinding{{
			ObjectMeta: meta("shop", "global"), Spec: clusterv1beta2.ManagedClusterSetBindingSpec{ClusterSet: "global"},
		}},
		Placements: []*clusterv1beta1.Placement{placement},
		Slices:     []*clusterv1beta1.PlacementDecision{slice},
	})
	if err != nil || len(bundle.Faults[fleet.Key{Namespace: "shop", Name: "web"}]) == 0 {
		t.Fatalf("got %v and %v, want a bundle that knows what is wrong", bundle, err)
	}
	decided := Decide(bundle, time.Unix(0, 0))
	if len(decided) != 1 || strings.Join(decided[0].Clusters(), " ") != "a" {
		t.Fatalf("got %+v, want that a stays", decided)
	}
	var out strings.Builder
	if err := PrintTable(&out, decided); err != nil || !strings.Contains(out.String(), "must be 0 or more") {
		t.Errorf("got %v and\n%s", err, out.String())
	}
}
