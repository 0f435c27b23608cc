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
)

// TestARegionDies, three clusters of ten, and the placement gives up one of them in each interval, also when the manager
// is killed meanwhile. Until its turn comes each is held, and the placement says so.
func TestARegionDies(t *testing.T) {
	const interval = 6 * time.Second
	s := newScene(t, 10)
	s.placement("web", 10, 0, func(spec *clusterv1beta1.PlacementSpec) {
		spec.DisruptionPolicy = &clusterv1beta1.DisruptionPolicy{
			MaxUnavailable: intstr.FromInt32(1), Interval: metav1.Duration{Duration: interval},
		}
	})
	dead := make([]int, north)
	for number := range dead {
		dead[number] = number
	}
	s.Kill(dead...)
	s.eventually(func(ctx context.Context) error { return s.holds(ctx, "web") })
	s.restart()

	spent := map[time.Time]int32{}
	s.eventually(func(ctx context.Context) error {
		got, err := s.account(ctx, "web")
		maps.Copy(spent, got)
		left, listErr := s.selected(ctx, "web")
		if len(left) > 10-north {
			return errors.Join(fmt.Errorf("%v are selected", left), err, listErr)
		}
		return errors.Join(err, listErr)
	})
	var want []string
	for number := north; number < 10; number++ {
		want = append(want, s.Name(number))
	}
	slices.Sort(want)
	left, err := s.selected(t.Context(), "web")
	if diff := cmp.Diff(want, left); diff != "" || err != nil {
		t.Errorf("error %v; who is selected in the end (-want +got):\n%s", err, diff)
	}
	instants := slices.SortedFunc(maps.Keys(spent), time.Time.Compare)
	if len(instants) != north {
		t.Errorf("clusters were given up at %v, want %d instants", instants, north)
	}
	for i, at := range instants {
		if spent[at] != 1 {
			t.Errorf("%d clusters were given up at %s, want 1", spent[at], at)
		}
		if i > 0 && at.Sub(instants[i-1]) < interval {
			t.Errorf("clusters were given up at %s and %s, which is less than %s apart", instants[i-1], at, interval)
		}
	}
}

// holds returns nil where a placement says that clusters are held.
func (s *scene) holds(ctx context.Context, name string) error {
	placement := &clusterv1beta1.Placement{}
	if err := s.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: name}, placement); err != nil {
		return err
	}
	if !meta.IsStatusConditionTrue(placement.Status.Conditions, clusterv1beta1.PlacementConditionHeld) {
		return fmt.Errorf("nobody is held: %v", placement.Status.Conditions)
	}
	return nil
}

// account returns how many clusters a placement has paid for, by instant.
func (s *scene) account(ctx context.Context, name string) (map[time.Time]int32, error) {
	placement := &clusterv1beta1.Placement{}
	err := s.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: name}, placement)
	out := map[time.Time]int32{}
	if placement.Status.Disruption != nil {
		for _, entry := range placement.Status.Disruption.Spent {
			out[entry.At.UTC()] = entry.Count
		}
	}
	return out, err
}
