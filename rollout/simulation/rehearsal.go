// Package rehearsal plays a whole rollout against clusters that take the change, fail or hang by a seed, in the time of a
// simulation. It owns how such clusters behave, and refuses to know the pace: every step is one of package rollout.
//
// The same play gives the same moments. What becomes of a cluster depends on the seed and its name alone.
package simulation

import (
	"cmp"
	"container/heap"
	"hash/fnv"
	"iter"
	"math"
	"math/rand/v2"
	"time"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	"github.com/berth-project/berth/rollout"
)

// Fleet says how clusters take a change.
type Fleet struct {
	Seed uint64
	// FailureRate and HangRate are the shares, from 0 to 1, of the clusters that fail, and of those that never say how it
	// went. A cluster that failed does not recover.
	FailureRate, HangRate float64
	// Duration is how long a cluster takes on average, Spread by which share of it, from 0 to 1, it takes more or less.
	Duration time.Duration
	Spread   float64
	// Grain is what durations are rounded up to; a second when 0.
	Grain time.Duration
}

// Run is a rollout to rehearse.
type Run struct {
	Strategy *clusterv1alpha1.RolloutStrategy
	Groups   rollout.Groups
	// Statuses are those at the start. Clusters under way then begin anew.
	Statuses []rollout.Status
	Fleet    Fleet
	Start    time.Time
}

// Event is an instant at which something happened, and the step that was taken.
type Event struct {
	At time.Time
	// Succeeded and Failed are the clusters that reported since the moment before, by when they did, then by name.
	Succeeded, Failed []string
	Step              rollout.Step
}

// Events yields every moment until nothing happens any more.
func (p Run) Events() iter.Seq[Event] {
	return func(yield func(Event) bool) {
		s := newState(p)
		for range s.maxEvents() {
			moment := Event{At: s.now, Succeeded: s.succeeded, Failed: s.failed}
			moment.Step = rollout.Next(p.Strategy, p.Groups, s.statuses, s.now)
			if !yield(moment) || !s.advance(moment.Step) {
				return
			}
		}
	}
}

// state is a play that is on.
type state struct {
	fleet             Fleet
	now               time.Time
	statuses          []rollout.Status
	at                map[string]int // cluster to position in statuses
	reports           reports
	succeeded, failed []string
	clusters          int
}

func newState(p Run) *state {
	s := &state{fleet: p.Fleet, now: p.Start, at: map[string]int{}}
	for _, group := range p.Groups.Groups {
		s.clusters += len(group.Clusters)
	}
	for _, status := range p.Statuses {
		s.set(status)
		if status.State == rollout.StateProgressing {
			s.begin(status.Cluster)
		}
	}
	return s
}

// maxEvents is more moments than a play can have: each starts a cluster, or sees one report, time out or stop being watched.
func (s *state) maxEvents() int { return 4*(s.clusters+len(s.statuses)) + 16 }

func (s *state) set(status rollout.Status) {
	position, known := s.at[status.Cluster]
	if !known {
		s.at[status.Cluster] = len(s.statuses)
		s.statuses = append(s.statuses, status)
		return
	}
	s.statuses[position] = status
}

// advance does what a step says and goes on to the next instant at which something happens. It returns false where
// nothing does any more.
func (s *state) advance(step rollout.Step) bool {
	for _, cluster := range step.Apply {
		s.set(rollout.Status{Cluster: cluster, State: rollout.StateProgressing, Since: s.now})
		s.begin(cluster)
	}
	next := step.Until
	if len(s.reports) > 0 && (next.IsZero() || s.reports[0].at.Before(next)) {
		next = s.reports[0].at
	}
	if next.IsZero() && len(step.Apply) == 0 {
		return false
	}
	if !next.IsZero() {
		s.now = next
	}
	s.succeeded, s.failed = nil, nil
	for len(s.reports) > 0 && !s.reports[0].at.After(s.now) {
		r, _ := heap.Pop(&s.reports).(report)
		s.set(rollout.Status{Cluster: r.cluster, State: r.state, Since: r.at})
		if r.state == rollout.StateFailed {
			s.failed = append(s.failed, r.cluster)
		} else {
			s.succeeded = append(s.succeeded, r.cluster)
		}
	}
	return true
}

// begin draws what becomes of a cluster that starts now.
func (s *state) begin(cluster string) {
	name := fnv.New64a()
	_, _ = name.Write([]byte(cluster))
	random := rand.New(rand.NewPCG(s.fleet.Seed, name.Sum64())) //nolint:gosec // a play is to be repeatable, not secret
	fate, pace := random.Float64(), 2*random.Float64()-1
	if fate < s.fleet.HangRate {
		return
	}
	out := report{cluster: cluster, state: rollout.StateSucceeded}
	if fate < s.fleet.HangRate+s.fleet.FailureRate {
		out.state = rollout.StateFailed
	}
	out.at = s.now.Add(s.fleet.rounded(float64(s.fleet.Duration) * (1 + pace*s.fleet.Spread)))
	heap.Push(&s.reports, out)
}

// maxDuration is the longest time that a cluster takes, so that adding to it does not overflow.
const maxDuration = time.Duration(math.MaxInt64 / 4)

// rounded returns a number of nanoseconds rounded up to the grain, and no less than that.
func (f Fleet) rounded(nanoseconds float64) time.Duration {
	took, grain := maxDuration, min(cmp.Or(f.Grain, time.Second), maxDuration)
	if nanoseconds < float64(maxDuration) {
		took = time.Duration(nanoseconds)
	}
	return max(grain, (took + grain - 1).Truncate(grain))
}

// report is what a cluster will say.
type report struct {
	at      time.Time
	cluster string
	state   rollout.State
}

// reports is a heap by instant, then name.
type reports []report

func (r reports) Len() int { return len(r) }

func (r reports) Less(i, j int) bool {
	return cmp.Or(r[i].at.Compare(r[j].at), cmp.Compare(r[i].cluster, r[j].cluster)) < 0
}

func (r reports) Swap(i, j int) { r[i], r[j] = r[j], r[i] }

// Push implements heap.Interface.
func (r *reports) Push(x any) {
	next, _ := x.(report)
	*r = append(*r, next)
}

// Pop implements heap.Interface.
func (r *reports) Pop() any {
	last := (*r)[len(*r)-1]
	*r = (*r)[:len(*r)-1]
	return last
}
