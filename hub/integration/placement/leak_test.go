//go:build slow

package placement

import (
	"fmt"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// resourceUse is the resources in use by a manager.
type resourceUse struct{ goroutines, heap, watches float64 }

// TestNothingGrows sends ten thousand events to a manager, after a warm-up, and compares its resources. The events cause
// evaluations and writes, but change no selection: the event recorder caches each event for six minutes, which would hide a
// leak.
func TestNothingGrows(t *testing.T) {
	const hands, clusters = 8, 40
	f := newFleet(t, clusters)
	for i := range 2 {
		f.placement(fmt.Sprintf("p%d", i), byScore, func(spec *clusterv1beta1.PlacementSpec) {
			spec.DecisionStrategy.GroupStrategy = groupStrategies()[1]
			spec.Predicates = []clusterv1beta1.ClusterPredicate{{RequiredClusterSelector: clusterv1beta1.ClusterSelector{
				LabelSelector: metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
					{Key: "passing", Operator: metav1.LabelSelectorOpDoesNotExist},
				}},
			}}}
		})
	}
	for i := range clusters {
		f.score(i, int32(i), nil)
	}
	t.Setenv("GOGC", "10") // so that the heap holds little garbage
	m := start(t, options{})
	awaitFixedPoint(t)

	before := f.changeMany(m, hands, 2000)
	after := f.changeMany(m, hands, 10000)
	t.Logf("before %+v, after %+v", before, after)
	if after.goroutines > before.goroutines+10 {
		t.Errorf("goroutines grew from %v to %v", before.goroutines, after.goroutines)
	}
	if after.watches != before.watches {
		t.Errorf("open watches changed from %v to %v", before.watches, after.watches)
	}
	if after.heap > before.heap*1.1+(1<<19) {
		t.Errorf("the heap grew from %.1f to %.1f MiB", before.heap/(1<<20), after.heap/(1<<20))
	}
	awaitFixedPoint(t)
}

// changeMany causes a number of events from several goroutines, and returns the resources that the manager then uses.
func (f *fleet) changeMany(m *manager, hands, events int) resourceUse {
	f.t.Helper()
	var working sync.WaitGroup
	for hand := range hands {
		working.Go(func() { f.changeOnce(hand, hands, events/hands) })
	}
	working.Wait()
	// The witness is decided after all events were processed, and creates the last garbage.
	f.placement(fmt.Sprintf("witness-%d", events), kit.Number(1), kit.Labelled("witness", fmt.Sprint(events)))
	f.join(9000+events, "witness", fmt.Sprint(events))
	f.awaitSelected(fmt.Sprintf("witness-%d", events), f.name(9000+events))
	read := m.idle(f.t, 0)
	return resourceUse{
		goroutines: read.Sum("go_goroutines"),
		heap:       read.Sum("go_memstats_heap_alloc_bytes"),
		watches:    shared.ReadMetrics(f.t).Sum("apiserver_longrunning_requests", `group="cluster.open-cluster-management.io"`, `verb="WATCH"`),
	}
}

// changeOnce causes events: it changes labels and scores, and creates and deletes placements and clusters.
func (f *fleet) changeOnce(hand, hands, events int) {
	for i := 0; i < events; i += 8 {
		for j := range 2 {
			number := hand + hands*((i/8+j)%5) // different for each goroutine
			f.patch(f.cluster(number), fmt.Sprintf(`{"metadata":{"labels":{"ring":"%d"}}}`, i/8%3))
			score := &clusterv1alpha1.AddOnPlacementScore{ObjectMeta: metav1.ObjectMeta{Namespace: f.name(number), Name: "load"}}
			patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"status":{"scores":[{"name":"cpu","value":%d}]}}`, i%100))
			if err := f.Status().Patch(f.t.Context(), score, patch); err != nil {
				f.t.Error(err)
			}
		}
		name := fmt.Sprintf("passing-%d-%d", hand, events+i)
		f.placement(name, kit.Number(0))
		f.MustDelete(f.object(name))
		f.join(10000+hand, "passing", "by")
		f.MustDelete(f.cluster(10000 + hand))
	}
}

func (f *fleet) patch(object client.Object, patch string) {
	f.t.Helper()
	if err := f.Patch(f.t.Context(), object, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		f.t.Error(err)
	}
}
