package decision_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/decision"
)

var (
	web  = types.NamespacedName{Namespace: "shop", Name: "web"}
	shop = types.NamespacedName{Namespace: "shop", Name: "api"}
)

func TestTrackerReturnsEachChangeOnce(t *testing.T) {
	tracker := decision.NewTracker()
	if diff := cmp.Diff([]types.NamespacedName{web}, tracker.Update(slice(1, "0", "", "a", "b"))); diff != "" {
		t.Errorf("placements (-want +got):\n%s", diff)
	}
	tracker.Update(slice(2, "1", "", "c"))
	steps := []struct {
		name string
		do   func()
		want decision.Change
	}{
		{"at first all is new", func() {}, decision.Change{Added: []string{"a", "b", "c"}}},
		{"nothing happens", func() {}, decision.Change{}},
		{"a cluster is added to its new slice", func() { tracker.Update(slice(2, "1", "", "b", "c")) }, decision.Change{}},
		{"it leaves its old one", func() { tracker.Update(slice(1, "0", "", "a")) }, decision.Change{Regrouped: []string{"b"}}},
		{"a slice goes", func() { tracker.Remove("shop", "web-decision-1") }, decision.Change{Removed: []string{"a"}}},
		{"one that is unknown goes", func() { tracker.Remove("shop", "web-decision-9") }, decision.Change{}},
		{"the last goes", func() { tracker.Remove("shop", "web-decision-2") }, decision.Change{Removed: []string{"b", "c"}}},
		{"the placement is removed", func() {}, decision.Change{}},
	}
	for _, step := range steps {
		step.do()
		if _, change := tracker.Take(web); cmp.Diff(step.want, change) != "" {
			t.Errorf("%s (-want +got):\n%s", step.name, cmp.Diff(step.want, change))
		}
	}
	if left := tracker.Placements(); len(left) > 0 {
		t.Errorf("still tracked: %v", left)
	}
}

func TestTrackerFollowsALabel(t *testing.T) {
	tracker := decision.NewTracker()
	tracker.Update(slice(1, "0", "", "a"))
	moved := slice(1, "0", "", "a")
	moved.Labels[clusterv1beta1.PlacementLabel] = "api"
	if diff := cmp.Diff([]types.NamespacedName{web, shop}, tracker.Update(moved)); diff != "" {
		t.Errorf("placements (-want +got):\n%s", diff)
	}
	bare := slice(1, "0", "", "a")
	bare.Labels = nil
	if diff := cmp.Diff([]types.NamespacedName{shop}, tracker.Update(bare)); diff != "" {
		t.Errorf("placements (-want +got):\n%s", diff)
	}
	if got := tracker.Update(bare); len(got) > 0 {
		t.Errorf("a slice without a label wakes %v", got)
	}
	if set, _ := tracker.Take(shop); set.Len() > 0 {
		t.Errorf("%d clusters are left", set.Len())
	}
	if diff := cmp.Diff([]types.NamespacedName{web}, tracker.Placements()); diff != "" {
		t.Errorf("placements (-want +got):\n%s", diff)
	}
}

func TestTrackerIsSharedByWorkers(t *testing.T) {
	tracker := decision.NewTracker()
	var group sync.WaitGroup
	added := make([]int, 4)
	for worker := range added {
		group.Go(func() {
			for i := range 50 {
				tracker.Update(slice(worker*50+i, "0", "", fmt.Sprintf("c%d-%d", worker, i)))
				_, change := tracker.Take(web)
				added[worker] += len(change.Added)
			}
		})
	}
	group.Wait()
	if sum := added[0] + added[1] + added[2] + added[3]; sum != 200 {
		t.Errorf("the workers got %d clusters, want each of 200 once", sum)
	}
}
