package placement

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// sliceReader lists the slices of a placement again and again by its label, as a consumer does, and checks every list.
type sliceReader struct {
	placement string
	// always are the clusters that stay selected. limit is the maximal number of clusters.
	always []string
	limit  int

	mu     sync.Mutex
	lists  int
	broken []string
}

// follow reads until ctx ends.
func (r *sliceReader) follow(ctx context.Context, f *fleet) {
	for ctx.Err() == nil {
		stored, err := f.slices(ctx, r.placement) // without a resourceVersion the list has the latest state, not a cached state
		if err != nil {
			continue
		}
		r.check(stored)
	}
}

func (r *sliceReader) check(stored []clusterv1beta1.PlacementDecision) {
	got := kit.ClustersIn(stored)
	var missing []string
	for _, name := range r.always {
		if _, found := slices.BinarySearch(got, name); !found {
			missing = append(missing, name)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lists++
	if len(missing) > 0 {
		r.broken = append(r.broken, fmt.Sprintf("list %d misses %v", r.lists, missing))
	}
	if len(got) > r.limit {
		r.broken = append(r.broken, fmt.Sprintf("list %d has %d clusters, more than %d", r.lists, len(got), r.limit))
	}
	for _, slice := range stored {
		if _, ok := slice.Labels[clusterv1beta1.DecisionGroupIndexLabel]; !ok {
			r.broken = append(r.broken, fmt.Sprintf("list %d: %s has no group", r.lists, slice.Name))
		}
	}
}

func (r *sliceReader) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lists
}

// TestReadersNeverMissACluster changes a fleet of three slices in every way that moves clusters between groups and slices, while two
// readers list the slices.
func TestReadersNeverMissACluster(t *testing.T) {
	sharedManager(t)
	const clusters, limit, touched = 260, 230, 12
	f := newFleet(t, 0)
	for i := range clusters {
		f.join(i, "ring", fmt.Sprint(i%4))
	}
	all, some := f.placement("all"), f.placement("some", kit.Number(limit))
	f.awaitSelected("all", f.upTo(clusters)...)
	f.awaitSelected("some", f.upTo(limit)...)

	// Only the first few clusters change.
	readers := []*sliceReader{
		{placement: "all", always: f.upTo(clusters)[touched:], limit: clusters + 100},
		{placement: "some", always: f.upTo(limit)[touched:], limit: limit},
	}
	ctx, stop := context.WithCancel(t.Context())
	var following sync.WaitGroup
	for _, r := range readers {
		following.Go(func() { r.follow(ctx, f) })
	}
	t.Cleanup(func() { stop(); following.Wait() })

	next := clusters
	for round, strategy := range groupStrategies() {
		for _, p := range []*clusterv1beta1.Placement{all, some} {
			change(f, p, func(p *clusterv1beta1.Placement) { p.Spec.DecisionStrategy.GroupStrategy = strategy })
		}
		for i := range touched / 3 {
			f.MustDelete(f.cluster((round%2)*touched/3 + i))
			change(f, f.cluster(2*touched/3+i), func(c *clusterv1.ManagedCluster) { toggle(c) })
			f.join(next, "ring", fmt.Sprint(next%4))
			next++
		}
		awaitFixedPoint(t)
		for i := range touched / 3 { // for the round after the next
			f.join((round%2)*touched/3+i, "ring", fmt.Sprint(i%4))
		}
		awaitFixedPoint(t)
	}
	stop()
	following.Wait()
	for _, r := range readers {
		t.Logf("%s: %d lists", r.placement, r.count())
		if r.count() < 2*len(groupStrategies()) {
			t.Errorf("%s was listed only %d times", r.placement, r.count())
		}
		for _, problem := range r.broken[:min(10, len(r.broken))] {
			t.Errorf("%s: %s", r.placement, problem)
		}
	}
}

// toggle taints a cluster, or removes the taint.
func toggle(c *clusterv1.ManagedCluster) {
	if len(c.Spec.Taints) > 0 {
		c.Spec.Taints = nil
		return
	}
	c.Spec.Taints = []clusterv1.Taint{{Key: "drain", Effect: clusterv1.TaintEffectNoSelect, TimeAdded: metav1.Now()}}
}

// groupStrategies are very different group strategies.
func groupStrategies() []clusterv1beta1.GroupStrategy {
	ring := func(name, value string) clusterv1beta1.DecisionGroup {
		return clusterv1beta1.DecisionGroup{GroupName: name, ClusterSelector: clusterv1beta1.GroupClusterSelector{
			LabelSelector: metav1.LabelSelector{MatchLabels: map[string]string{"ring": value}},
		}}
	}
	return []clusterv1beta1.GroupStrategy{
		{ClustersPerDecisionGroup: intstr.FromInt32(40)},
		{DecisionGroups: []clusterv1beta1.DecisionGroup{ring("first", "0"), ring("second", "1")}},
		{
			DecisionGroups:           []clusterv1beta1.DecisionGroup{ring("second", "1"), ring("first", "3")},
			ClustersPerDecisionGroup: intstr.FromString("15%"),
		},
		{},
		{DecisionGroups: []clusterv1beta1.DecisionGroup{{GroupName: "all"}}, ClustersPerDecisionGroup: intstr.FromInt32(7)},
		{ClustersPerDecisionGroup: intstr.FromString("50%")},
	}
}
