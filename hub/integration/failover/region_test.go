//go:build slow

package failover

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// TestRegionFails stops a region of three clusters of thirteen. Each placement evicts one of them in each interval, also when
// the manager is killed in between. The limit is a number or a percentage. Until its eviction a cluster is held, and the
// placement reports that. When the region is back, no decision moves.
func TestRegionFails(t *testing.T) {
	const interval, wanted = 6 * time.Second, 10
	s := newTestFleet(t, northClusters+wanted)
	budgets := map[string]intstr.IntOrString{"number": intstr.FromInt32(1), "share": intstr.FromString("10%")}
	for name, most := range budgets {
		s.placement(name, wanted, 0, steady, func(spec *clusterv1beta1.PlacementSpec) {
			spec.DisruptionPolicy = &clusterv1beta1.DisruptionPolicy{MaxUnavailable: most, Interval: metav1.Duration{Duration: interval}}
		})
	}
	var stopped []int
	var want []string
	for number := range northClusters + wanted {
		if number < northClusters {
			stopped = append(stopped, number)
		} else {
			want = append(want, s.Name(number))
		}
	}
	s.StopAgents(stopped...)
	for name := range budgets {
		s.Await("the placement holds the clusters of the region", func(ctx context.Context) error { return s.checkHeld(ctx, name) })
	}
	spent := map[string]map[time.Time]int32{}
	for name := range budgets {
		times := kit.Must(s.evictionTimes(t.Context(), name)).In(t)
		spent[name] = times
	}
	s.restart()
	s.awaitEvictions(spent, want, interval)

	s.StartAgents(stopped...)
	for _, number := range stopped {
		s.awaitTaint(number, "")
	}
	s.awaitGraceOver()
	for name := range budgets {
		after, err := s.Selected(t.Context(), s.namespace, name)
		if diff := cmp.Diff(want, after); diff != "" || err != nil {
			t.Errorf("error %v; clusters of %s after the region has recovered (-want +got):\n%s", err, name, diff)
		}
	}
}

// steady ranks incumbents first, and then by name.
func steady(spec *clusterv1beta1.PlacementSpec) {
	spec.PrioritizerPolicy = clusterv1beta1.PrioritizerPolicy{
		Mode: clusterv1beta1.PrioritizerPolicyModeExact,
		Configurations: []clusterv1beta1.PrioritizerConfig{{Weight: new(int32(1)), ScoreCoordinate: &clusterv1beta1.ScoreCoordinate{
			Type: clusterv1beta1.ScoreCoordinateTypeBuiltIn, BuiltIn: "Steady",
		}}},
	}
}

// awaitEvictions waits until placements have selected exactly some clusters, and checks that each placement evicted the others
// one by one. spent are the evictions so far by placement.
func (t *testFleet) awaitEvictions(spent map[string]map[time.Time]int32, want []string, interval time.Duration) {
	t.t.Helper()
	names := slices.Sorted(maps.Keys(spent))
	t.Await("placements have selected exactly some clusters, and checks that each placement evicted the others one by one",
		func(ctx context.Context) error {
			var errs []error
			for _, name := range names { // all placements each time, because a budget drops old evictions
				got, err := t.evictionTimes(ctx, name)
				maps.Copy(spent[name], got)
				selected, listErr := t.Selected(ctx, t.namespace, name)
				if !slices.Equal(selected, want) || len(spent[name]) < northClusters { // the status is stored after the slices
					err = errors.Join(fmt.Errorf("%s has selected %v, want %v; it evicted at %v", name, selected, want, spent[name]), err)
				}
				errs = append(errs, err, listErr)
			}
			return errors.Join(errs...)
		})
	for _, name := range names {
		t.expectOneByOne(name, spent[name], interval)
	}
}

// expectOneByOne checks that the clusters of the region were evicted at times that are an interval apart.
func (t *testFleet) expectOneByOne(name string, spent map[time.Time]int32, interval time.Duration) {
	t.t.Helper()
	instants := slices.SortedFunc(maps.Keys(spent), time.Time.Compare)
	if len(instants) != northClusters {
		t.t.Errorf("%s: clusters were evicted at %v, want %d times", name, instants, northClusters)
	}
	for i, at := range instants {
		if spent[at] != 1 {
			t.t.Errorf("%s: %d clusters were evicted at %s, want 1", name, spent[at], at)
		}
		if i > 0 && at.Sub(instants[i-1]) < interval {
			t.t.Errorf("%s: clusters were evicted at %s and %s, less than %s apart", name, at, instants[i-1], interval)
		}
	}
}

// checkHeld returns nil if a placement reports held clusters.
func (t *testFleet) checkHeld(ctx context.Context, name string) error {
	placement := &clusterv1beta1.Placement{}
	if err := t.Get(ctx, client.ObjectKey{Namespace: t.namespace, Name: name}, placement); err != nil {
		return err
	}
	if !meta.IsStatusConditionTrue(placement.Status.Conditions, clusterv1beta1.PlacementConditionHeld) {
		return fmt.Errorf("no cluster is held: %v", placement.Status.Conditions)
	}
	return nil
}

// evictionTimes returns the number of evictions in the budget of a placement, by time.
func (t *testFleet) evictionTimes(ctx context.Context, name string) (map[time.Time]int32, error) {
	placement := &clusterv1beta1.Placement{}
	err := t.Get(ctx, client.ObjectKey{Namespace: t.namespace, Name: name}, placement)
	out := map[time.Time]int32{}
	if placement.Status.Disruption != nil {
		for _, entry := range placement.Status.Disruption.Spent {
			out[entry.At.UTC()] = entry.Count
		}
	}
	return out, err
}
