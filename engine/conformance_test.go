package engine_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
	"github.com/berth-project/berth/engine/program"
)

func TestSlicesOfAHundred(t *testing.T) {
	env, err := celenv.New()
	if err != nil {
		t.Fatal(err)
	}
	edit := fleet.Empty().Edit()
	for i := range 250 {
		edit.SetCluster(fleet.NewCluster(&clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("c%03d", i), Labels: map[string]string{clusterv1beta2.ClusterSetLabel: "all"},
		}}))
	}
	edit.SetSet(fleet.NewSet(&clusterv1beta2.ManagedClusterSet{ObjectMeta: metav1.ObjectMeta{Name: "all"}}))
	edit.Bind("ns", "all")
	placement := &clusterv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p"}}
	compiled, faults := program.Compile(placement, env)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	result := engine.Schedule(edit.Snapshot().At(time.Unix(0, 0)), compiled)
	var sizes []int
	for _, slice := range result.Slices() {
		sizes = append(sizes, len(slice.Clusters))
	}
	if diff := cmp.Diff([]int{100, 100, 50}, sizes); diff != "" {
		t.Errorf("slice sizes (-want +got):\n%s", diff)
	}
	writes := plan.Diff(result, plan.Stored{Placement: placement}, time.Unix(0, 0)).Writes
	verbs := slices.Collect(func(yield func(string) bool) {
		for _, write := range writes {
			if !yield(write.Verb.String()) {
				return
			}
		}
	})
	if diff := cmp.Diff([]string{"create", "create", "create", "report"}, verbs); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
}
