// Package simulation simulates a whole rollout, in simulated time. Each cluster succeeds, fails or hangs, depending on a seed
// and its name. Every step comes from package rollout, with a memory as the manager has it: a cluster that is lost counts, and a
// mandatory group is passed when all of its clusters have succeeded.
//
// The same Run has the same events.
package simulation

import (
	"cmp"
	"container/heap"
	"hash/fnv"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	"github.com/berth-project/berth/decision"
	"github.com/berth-project/berth/rollout"
)

// Fleet sets how clusters take a change.
type Fleet struct {
	Seed uint64
	// FailureRate and HangRate are the shares, from 0 to 1, of the clusters that fail and of the clusters that never report. A
	// failed cluster does not recover.
	FailureRate, HangRate float64
	// Duration is how long a cluster takes on average. Spread is the share, from 0 to 1, by which that varies.
	Duration time.Duration
	Spread   float64
	// Grain is the unit to which durations are rounded up; the default is a second.
	Grain time.Duration
}

// Run is a rollout to simulate.
type Run struct {
	Strategy *clusterv1alpha1.RolloutStrategy
	Groups   rollout.Groups
	// Statuses are the statuses at the start. Progressing clusters start again.
	Statuses []rollout.Status
	// Lost are clusters that leave the decision once they have the change: after the time that they take, without a report.
	Lost  []string
	Fleet Fleet
	Start time.Time
}

// Event is an instant at which something happened, with the step of that instant.
type Event struct {
	At time.Time
	// Succeeded and Failed have the clusters that reported since the previous event, in the order of their reports, then by
	// name.
	Succeeded, Failed []string
	// Lost has the clusters that left since then.
	Lost []string
	Step rollout.Step
}

// Events yields every event until nothing more happens.
func (r Run) Events() iter.Seq[Event] {
	return func(yield func(Event) bool) {
		s := newState(r)
		for range s.maxEvents() {
			moment := Event{At: s.now, Succeeded: s.succeeded, Failed: s.failed, Lost: s.lost, Step: s.next(r.Strategy)}
			if !yield(moment) || !s.advance(moment.Step) {
				return
			}
		}
	}
}

// state is a running simulation.
type state struct {
	fleet             Fleet
	now               time.Time
	groups            rollout.Groups
	evidence          rollout.Evidence
	statuses          []rollout.Status
	at                map[string]int // cluster to position in statuses
	reports           reports
	leaves            map[string]bool
	succeeded, failed []string
	lost              []string
}

func newState(p Run) *state {
	s := &state{fleet: p.Fleet, now: p.Start, at: map[string]int{}, groups: p.Groups, leaves: map[string]bool{}}
	s.groups.Groups = slices.Clone(p.Groups.Groups)
	for _, group := range p.Groups.Groups {
		s.evidence.Total += len(group.Clusters)
	}
	s.evidence.Lost = map[decision.GroupKey]int{}
	for _, to := range rollout.MandatoryGroups(p.Strategy) {
		s.evidence.Gates = append(s.evidence.Gates, rollout.Gate{Group: to})
	}
	for _, cluster := range p.Lost {
		s.leaves[cluster] = true
	}
	for _, status := range p.Statuses {
		s.set(status)
		if status.State == rollout.StateProgressing {
			s.begin(status.Cluster)
		}
	}
	return s
}

// maxEvents is more than the events of any run: in each a cluster starts, reports, times out or stops soaking.
func (s *state) maxEvents() int { return 4*(s.evidence.Total+len(s.statuses)) + 16 }

// next returns the next step. It passes the mandatory groups whose clusters have all succeeded.
func (s *state) next(strategy *clusterv1alpha1.RolloutStrategy) rollout.Step {
	step := s.evidence.Next(strategy, s.groups, s.statuses, s.now)
	for s.passGates(step) {
		step = s.evidence.Next(strategy, s.groups, s.statuses, s.now)
	}
	return step
}

// passGates passes mandatory groups, and reports whether there was one to pass.
func (s *state) passGates(step rollout.Step) bool {
	passed := false
	for i := range s.evidence.Gates {
		gate := &s.evidence.Gates[i]
		done, open := 0, 0
		for _, verdict := range step.Verdicts {
			switch {
			case !rollout.RefersTo(gate.Group, verdict.Group):
			case verdict.Code == rollout.Done:
				done++
			default:
				open++
			}
		}
		for group, lost := range s.evidence.Lost {
			if rollout.RefersTo(gate.Group, group) {
				open += lost
			}
		}
		if !gate.Passed && done > 0 && open == 0 {
			gate.Passed, passed = true, true
		}
	}
	return passed
}

// leave takes a cluster out of the decision.
func (s *state) leave(cluster string) {
	for i, group := range s.groups.Groups {
		if at := slices.Index(group.Clusters, cluster); at >= 0 {
			s.groups.Groups[i].Clusters = slices.Delete(slices.Clone(group.Clusters), at, at+1)
			s.evidence.Lost[group.GroupKey]++
		}
	}
	s.lost = append(s.lost, cluster)
}

func (s *state) set(status rollout.Status) {
	position, known := s.at[status.Cluster]
	if !known {
		s.at[status.Cluster] = len(s.statuses)
		s.statuses = append(s.statuses, status)
		return
	}
	s.statuses[position] = status
}

// advance applies a step and moves to the next instant at which something happens. It returns false without such an
// instant.
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
	s.succeeded, s.failed, s.lost = nil, nil, nil
	for len(s.reports) > 0 && !s.reports[0].at.After(s.now) {
		r, _ := heap.Pop(&s.reports).(report)
		if s.leaves[r.cluster] {
			s.leave(r.cluster)
			continue
		}
		s.set(rollout.Status{Cluster: r.cluster, State: r.state, Since: r.at})
		if r.state == rollout.StateFailed {
			s.failed = append(s.failed, r.cluster)
		} else {
			s.succeeded = append(s.succeeded, r.cluster)
		}
	}
	return true
}

// begin draws the outcome of a cluster that starts now.
func (s *state) begin(cluster string) {
	name := fnv.New64a()
	_, _ = name.Write([]byte(cluster))
	random := rand.New(rand.NewPCG(s.fleet.Seed, name.Sum64())) //nolint:gosec // a simulation must be repeatable, not secret
	fate, pace := random.Float64(), 2*random.Float64()-1
	if fate < s.fleet.HangRate && !s.leaves[cluster] {
		return
	}
	out := report{cluster: cluster, state: rollout.StateSucceeded}
	if fate < s.fleet.HangRate+s.fleet.FailureRate {
		out.state = rollout.StateFailed
	}
	out.at = s.now.Add(s.fleet.rounded(float64(s.fleet.Duration) * (1 + pace*s.fleet.Spread)))
	heap.Push(&s.reports, out)
}

// maxDuration is the longest time that a cluster takes. Adding to it does not overflow.
const maxDuration = time.Duration(math.MaxInt64 / 4)

// rounded returns nanoseconds rounded up to the grain, at least one grain.
func (f Fleet) rounded(nanoseconds float64) time.Duration {
	took, grain := maxDuration, min(cmp.Or(f.Grain, time.Second), maxDuration)
	if nanoseconds < float64(maxDuration) {
		took = time.Duration(nanoseconds)
	}
	return max(grain, (took + grain - 1).Truncate(grain))
}

// report is the future state of a cluster.
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
