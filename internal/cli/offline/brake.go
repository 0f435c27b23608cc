package offline

import (
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/internal/placement/brake"
)

// Brakes find the departures that are too many at once, as the brake of a manager does. Everything happens at one instant.
type Brakes struct {
	*brake.Brake

	// sets are the sets whose brake is on by what was judged.
	sets map[string]bool
}

// instant is a clock that stands still.
type instant time.Time

func (i instant) Now() time.Time                       { return time.Time(i) }
func (i instant) Since(before time.Time) time.Duration { return time.Time(i).Sub(before) }

// NewBrakes returns brakes that have judged nothing. Those of the sets that are on stay on.
func NewBrakes(now time.Time, sets []*clusterv1beta2.ManagedClusterSet) *Brakes {
	out := &Brakes{sets: map[string]bool{}}
	out.Brake = brake.New(instant(now), 0, func(set string) { out.sets[set] = true }, func(fleet.Key) {})
	for _, set := range sets {
		out.Observe(set)
	}
	clear(out.sets)
	return out
}

// On describes the brakes that are on by what was judged, but for those that other brakes have on too; nil: no other.
func (b *Brakes) On(other *Brakes) []string {
	var out []string
	for _, set := range slices.Sorted(maps.Keys(b.sets)) {
		if other != nil && other.sets[set] {
			continue
		}
		for _, condition := range b.Conditions(set) {
			if condition.Status == metav1.ConditionTrue {
				out = append(out, fmt.Sprintf("managedclusterset/%s: %s", set, condition.Message))
			}
		}
	}
	return out
}

// Braked describes the brakes by which a manager would not store some decisions: those that they put on, and those that are on and keep
// what is removed.
func Braked(decided []Decision, now time.Time, sets []*clusterv1beta2.ManagedClusterSet) []string {
	brakes := NewBrakes(now, sets)
	for i := range decided {
		d := &decided[i]
		if d.Result == nil {
			continue
		}
		leaving := d.Result.Departures(brake.HealthTaint)
		if len(leaving) == 0 {
			continue
		}
		kept := brakes.Judge(brake.Decision{
			Key: d.Key, Departures: leaving, Snapshot: d.Result.Trace.Snapshot, SameSpec: d.sameSpec, SameReach: true,
		})
		for _, departure := range leaving {
			if kept[departure.Cluster] != "" {
				brakes.keepBySets(departure.Sets)
			}
		}
	}
	return brakes.On(nil)
}

// keepBySets records that the brake of one of some sets, or that of the hub, keeps a cluster.
func (b *Brakes) keepBySets(sets []string) {
	for _, set := range slices.Concat(sets, []string{clusterv1beta2.GlobalClusterSetName}) {
		b.sets[set] = true
	}
}
