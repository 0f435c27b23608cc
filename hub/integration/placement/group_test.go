package placement

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// groupsOf returns the clusters of each decision group, by the group index in the labels.
func groupsOf(stored []clusterv1beta1.PlacementDecision) map[string][]string {
	out := map[string][]string{}
	for _, slice := range stored {
		index := slice.Labels[clusterv1beta1.DecisionGroupIndexLabel]
		for _, decision := range slice.Status.Decisions {
			out[index] = append(out[index], decision.ClusterName)
		}
	}
	for _, names := range out {
		slices.Sort(names)
	}
	return out
}

// TestAPercentageGroupThatIsTooLargeIsCutOnce cuts a placement of 50 clusters, in groups of 20 %, to the ten clusters of its first
// group. The group shrinks to its bound of three. Readers see all ten clusters at any time, and one event names the moved clusters.
func TestAPercentageGroupThatIsTooLargeIsCutOnce(t *testing.T) {
	m := sharedManager(t)
	const before, after = 50, 10
	f := newFleet(t, before)
	p := f.placement("p", grouping("20%"), kit.Number(before))
	f.awaitSelected("p", f.upTo(before)...)

	r := &sliceReader{placement: "p", always: f.upTo(after), limit: before}
	ctx, stop := context.WithCancel(t.Context())
	var following sync.WaitGroup
	following.Go(func() { r.follow(ctx, f) })
	t.Cleanup(func() { stop(); following.Wait() })
	change(f, p, func(p *clusterv1beta1.Placement) { kit.Number(after)(&p.Spec) })
	f.awaitSelected("p", f.upTo(after)...)
	m.idle(t, 0)
	stop()
	following.Wait()
	for _, problem := range r.broken {
		t.Error(problem)
	}

	stored := kit.Must(f.slices(t.Context(), "p")).In(t)
	want := map[string][]string{"0": f.names(0, 1, 2), "1": f.names(3, 4), "2": f.names(5, 6), "3": f.names(7, 8), "4": f.names(9)}
	if diff := cmp.Diff(want, groupsOf(stored)); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	kit.Await(t, "the events report the regrouped clusters", func(ctx context.Context) error {
		var list eventsv1.EventList
		if err := f.List(ctx, &list, client.InNamespace(f.namespace)); err != nil {
			return err
		}
		var notes []string
		for _, event := range list.Items {
			if strings.Contains(event.Note, "regrouped") {
				notes = append(notes, event.Note)
			}
		}
		regrouped := fmt.Sprintf(", regrouped 7 (%s: their decision group was too large)", strings.Join(f.names(3, 4, 5, 6, 7, 8, 9), ", "))
		if len(notes) != 1 || !strings.HasSuffix(notes[0], regrouped) {
			return fmt.Errorf("events %q, want one with the end %q", notes, regrouped)
		}
		return nil
	})
}
