package enginetest

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
)

// memory is the state that is stored with a placement between runs.
type memory struct {
	// sameSpec is set if the last decision was made for the current spec.
	sameSpec bool
	spent    []payment
	// releasing are charged to the budget and about to be removed.
	releasing map[string]bool
	// held and waiting have the instant since which each is held or waits.
	held, waiting map[string]time.Time
	// release is when the held clusters may be released; it is not stored.
	release map[string]time.Time
}

// payment is a number of clusters removed at one instant.
type payment struct {
	at    time.Time
	count int
}

// ceil rounds an instant up to a whole second: stored instants have no fractions.
func ceil(at time.Time) time.Time {
	if whole := at.Truncate(time.Second); whole.Before(at) {
		return whole.Add(time.Second)
	}
	return at
}

// readMemory reads the memory from the status of a placement. Invalid entries are read so that no cluster is removed for them.
func readMemory(placement *clusterv1beta1.Placement, now time.Time) memory {
	out := memory{releasing: map[string]bool{}, held: map[string]time.Time{}, waiting: map[string]time.Time{}}
	satisfied := meta.FindStatusCondition(placement.Status.Conditions, "PlacementSatisfied")
	out.sameSpec = satisfied != nil && satisfied.ObservedGeneration == placement.Generation
	if stored := placement.Status.Disruption; stored != nil {
		for _, spent := range stored.Spent {
			at := spent.At.Time
			if at.IsZero() {
				at = ceil(now)
			}
			if spent.Count > 0 {
				out.spent = append(out.spent, payment{at, int(spent.Count)})
			}
		}
		for _, name := range stored.Releasing {
			out.releasing[name] = true
		}
		since(stored.Held, out.held)
	}
	if stored := placement.Status.Failback; stored != nil {
		since(stored.Waiting, out.waiting)
	}
	sortPayments(out.spent)
	return out
}

// since reads the instants of clusters, the earliest of several.
func since(in []clusterv1beta1.ClustersSince, out map[string]time.Time) {
	for _, some := range in {
		for _, name := range some.Clusters {
			if at, known := out[name]; !some.Since.IsZero() && (!known || some.Since.Time.Before(at)) {
				out[name] = some.Since.Time
			}
		}
	}
}

// storeMemory stores the memory in the status.
func (r *run) storeMemory(out *Outcome, next memory) {
	disruption := &clusterv1beta1.DisruptionStatus{Held: sinceLists(next.held)}
	for _, spent := range next.spent {
		disruption.Spent = append(disruption.Spent, clusterv1beta1.DisruptionSpent{
			At: metav1.NewTime(spent.at), Count: int32(spent.count), //nolint:gosec // states are small
		})
	}
	out.Status.Disruption, out.Status.Failback = nil, nil
	if len(disruption.Held)+len(disruption.Spent) > 0 {
		out.Status.Disruption = disruption
	}
	if len(next.waiting) > 0 {
		out.Status.Failback = &clusterv1beta1.FailbackStatus{Waiting: sinceLists(next.waiting)}
	}
}

// sinceLists groups clusters by instant.
func sinceLists(in map[string]time.Time) []clusterv1beta1.ClustersSince {
	var out []clusterv1beta1.ClustersSince
	for _, name := range slices.Sorted(maps.Keys(in)) {
		at := slices.IndexFunc(out, func(some clusterv1beta1.ClustersSince) bool { return some.Since.Time.Equal(in[name]) })
		if at < 0 {
			at = len(out)
			out = append(out, clusterv1beta1.ClustersSince{Since: metav1.NewTime(in[name])})
		}
		out[at].Clusters = append(out[at].Clusters, name)
	}
	slices.SortFunc(out, func(a, b clusterv1beta1.ClustersSince) int {
		return cmp.Compare(a.Since.UnixNano(), b.Since.UnixNano())
	})
	return out
}
