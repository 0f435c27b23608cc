package evidence

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	"github.com/berth-project/berth/decision"
	"github.com/berth-project/berth/rollout"
)

// maxWatchInterval and minWatchInterval bound how often a record is written while a cluster soaks: four times in the shortest soak.
const maxWatchInterval, minWatchInterval = time.Minute, time.Second

// maxDelay is how late a run may come on a busy hub without a gap in what it watched.
const maxDelay = 2 * time.Second

// Run returns what to do now and what to store. It does not change its argument.
func Run(in Input) Output {
	r := &run{in: in, clusters: make(map[string]*Cluster, len(in.Clusters))}
	r.out.Begins, r.out.Restart = map[string]bool{}, map[string]bool{}
	for i := range in.Clusters {
		r.clusters[in.Clusters[i].Name] = &in.Clusters[i]
	}
	for _, placement := range in.Placements {
		r.paces = append(r.paces, rollout.PaceOf(placement.Strategy))
	}
	r.begin()
	if r.record.FinishedTime == nil {
		r.skipGap()
		r.follow()
		r.unrecorded()
		r.regress()
		r.openGates()
		r.passGates()
	}
	r.full = r.inFlight() >= maxNamed
	r.decide()
	r.await()
	frozen := make([]bool, len(in.Placements))
	if in.Hold != nil {
		frozen = in.Hold(r.out.Steps)
	}
	r.start()
	r.retry(frozen)
	r.finish()
	if r.record.FinishedTime != nil {
		r.record.ProvenOverrides = r.in.Overrides
	}
	r.holds()
	r.count()
	r.out.Record = r.record
	return r.out
}

// run is one run.
type run struct {
	in       Input
	clusters map[string]*Cluster
	// paces are those of the placements.
	paces  []rollout.Pace
	record *clusterv1alpha1.RolloutRecord
	// entries are the clusters on record, by name.
	entries map[string]*clusterv1alpha1.ClusterRolloutRecord
	// full means that the names in flight are at their bound: then others may be in flight too, as with type All, and their state counts.
	full bool
	// open means that it is not known whether a cluster in flight, or a failed cluster, is selected.
	open bool
	out  Output
}

// paceOf returns the pace of a placement; the zero value for none.
func (r *run) paceOf(placement int) rollout.Pace {
	if placement == NoPlacement {
		return rollout.Pace{}
	}
	return r.paces[placement]
}

// skipGap lengthens every soak and every deadline by the time in which no manager watched.
func (r *run) skipGap() {
	watched := r.record.ObservedTime.Time
	if gap := r.in.Now.Sub(watched); gap > r.watchInterval()+maxDelay {
		for _, entry := range r.entries {
			if entry.Phase == clusterv1alpha1.ClusterInFlight {
				entry.StartedTime = metav1.NewMicroTime(entry.StartedTime.Add(gap))
			}
			if entry.SucceededTime != nil {
				entry.SucceededTime = &metav1.MicroTime{Time: entry.SucceededTime.Add(gap)}
			}
		}
		r.record.ObservedTime = metav1.NewMicroTime(r.in.Now)
	}
}

// watchInterval is how often the record is written while a cluster soaks. A gap of more than an interval and maxDelay was not watched.
func (r *run) watchInterval() time.Duration {
	out := maxWatchInterval
	for i := range r.in.Placements {
		pace := r.paceOf(i)
		for _, span := range []time.Duration{pace.MinSuccessTime, pace.Deadline} {
			if span > 0 {
				out = min(out, max(minWatchInterval, span/4))
			}
		}
	}
	return out
}

// decide computes the step of each placement. A breach of a placement holds the others, also once the placement was taken out. What starts
// under a placement may prove a mandatory group of another.
func (r *run) decide() {
	breached, former := -1, r.breachedFormer() >= 0
	if former {
		r.out.Breached = r.record.Placements[r.breachedFormer()].Name
	}
	for range 2 {
		starts, held := r.starting(), breached >= 0
		r.out.Steps = nil
		for i, placement := range r.in.Placements {
			evidence := r.evidence(i, starts)
			evidence.Breached = former || held && breached != i
			step := evidence.Next(placement.Strategy, placement.Ruled, r.statuses(i), r.in.Now)
			r.out.Steps = append(r.out.Steps, step)
			if breached < 0 && step.Breached {
				breached = i
			}
		}
		if breached < 0 {
			breached = r.breachedUndecided()
		}
		unproven := slices.ContainsFunc(r.out.Steps, func(step rollout.Step) bool { return step.Phase == rollout.PhaseUnproven })
		if breached < 0 && !unproven {
			break
		}
	}
	for i, step := range r.out.Steps {
		of := r.placement(r.in.Placements[i].Name)
		of.Breached = step.Breached || of.Breached && (former || r.undecided(i))
	}
}

// starting returns the clusters that start by the steps so far.
func (r *run) starting() map[string]bool {
	out := map[string]bool{}
	for _, step := range r.out.Steps {
		for _, name := range step.Apply {
			out[name] = true
		}
	}
	return out
}

// undecided reports whether it is not known which clusters a placement selects, so that nothing of it ends.
func (r *run) undecided(placement int) bool {
	return r.out.Steps[placement].Phase == rollout.PhaseUndecided || !r.in.Placements[placement].Complete
}

// breachedUndecided returns the first placement that was breached before its decision went, or began to change; -1 for none.
func (r *run) breachedUndecided() int {
	for i := range r.out.Steps {
		if of := r.placement(r.in.Placements[i].Name); r.undecided(i) && of.Breached && r.fails(*of) {
			return i
		}
	}
	return -1
}

// breachedFormer returns the position, in the record, of the first placement that was breached when it was taken out, and that has a failed
// or lost cluster yet; -1 for none.
func (r *run) breachedFormer() int {
	return slices.IndexFunc(r.record.Placements, func(of clusterv1alpha1.PlacementRolloutRecord) bool {
		return of.Breached && r.position(of.Name) == NoPlacement && r.fails(of)
	})
}

// fails reports whether a cluster that started under a placement has failed or is lost.
func (r *run) fails(of clusterv1alpha1.PlacementRolloutRecord) bool {
	for _, entry := range r.entries {
		if entry.Placement == of.Name && entry.Phase == clusterv1alpha1.ClusterFailed {
			return true
		}
	}
	return slices.ContainsFunc(of.Groups, func(group clusterv1alpha1.GroupRolloutRecord) bool { return r.lost(of.Name, group) > 0 })
}

// await lets nothing start while it is not known whether a cluster in flight, or a failed cluster, is selected: until then it has a place,
// or counts as a failure.
func (r *run) await() {
	for i := range r.out.Steps {
		if step := &r.out.Steps[i]; r.open && step.Phase == rollout.PhaseAdvancing {
			Freeze(step, rollout.PhaseWaiting, rollout.WaitsForDecision)
		}
	}
}

// evidence returns what the record records to the step of a placement. starts has the clusters that start now.
func (r *run) evidence(placement int, starts map[string]bool) rollout.Evidence {
	of := r.placement(r.in.Placements[placement].Name)
	out := rollout.Evidence{
		Total: int(of.Base), Lost: map[decision.GroupKey]int{}, Gates: []rollout.Gate{},
		InFlightLimit: maxNamed, Finished: r.record.FinishedTime != nil,
	}
	for _, gate := range of.Gates {
		out.Gates = append(out.Gates, rollout.Gate{
			Group: effective(gate), Passed: gate.Passed != "" || out.Finished, Proving: r.proving(gate, placement, starts),
		})
	}
	for _, group := range of.Groups {
		if lost := r.lost(of.Name, group); lost > 0 {
			out.Lost[r.presentKey(placement, group)] += lost
		}
	}
	return out
}

// presentKey returns the key that a group on record has in the decision now.
func (r *run) presentKey(placement int, group clusterv1alpha1.GroupRolloutRecord) decision.GroupKey {
	for _, now := range r.in.Placements[placement].Decided.Groups {
		if group.Name != "" && now.Name == group.Name {
			return now.GroupKey
		}
	}
	return decision.GroupKey{Index: int(group.Index), Name: group.Name}
}

// statuses returns the statuses of the clusters that a placement rules, and of those that left it with something of the change.
func (r *run) statuses(placement int) []rollout.Status {
	var out []rollout.Status
	for i := range r.in.Clusters {
		c := &r.in.Clusters[i]
		switch {
		case c.Placement == placement:
			if status, has := r.status(c); has {
				out = append(out, status)
			}
		case c.Placement == NoPlacement && c.Former == placement:
			out = append(out, rollout.Status{Cluster: c.Name, State: c.State, Since: c.Since})
		}
	}
	return out
}

// status returns the status of a cluster for its step. Has is false for a cluster that has not started.
func (r *run) status(c *Cluster) (out rollout.Status, has bool) {
	entry := r.entries[c.Name]
	out = rollout.Status{Cluster: c.Name, State: c.State}
	switch {
	case c.State == rollout.StateSkip:
		if entry != nil && entry.Phase == clusterv1alpha1.ClusterFailed && r.record.FinishedTime == nil {
			out.State = rollout.StateFailed // that it gets nothing more does not end its failure
		}
		return out, true
	case entry == nil || r.record.FinishedTime != nil:
		if c.State == rollout.StateProgressing && r.record.FinishedTime == nil && !r.full {
			out.State = rollout.StateSucceeded // it succeeded before
		}
		return out, c.State != rollout.StateToApply
	case entry.Phase == clusterv1alpha1.ClusterLeft && r.goes(entry):
		out.State = rollout.StateSkip
		return out, true
	case entry.Phase == clusterv1alpha1.ClusterLost || entry.Phase == clusterv1alpha1.ClusterLeft:
		return out, false
	case !entry.Written && c.State == rollout.StateToApply:
		return out, false
	case c.State == rollout.StateToApply && r.in.Placements[c.Placement].Returning:
		out.Failed = entry.Phase == clusterv1alpha1.ClusterFailed
		return out, true
	}
	out.Failed = entry.Phase == clusterv1alpha1.ClusterFailed
	switch c.State {
	case rollout.StateSucceeded:
		out.Soaking, out.Since = true, entry.SucceededTime.Time
	case rollout.StateFailed, rollout.StateTimedOut:
	default:
		out.State = rollout.StateProgressing
		if !entry.Reached {
			out.Since = entry.StartedTime.Time
		}
	}
	return r.forgive(out, entry, c), true
}

// forgive leaves a forgiven cluster out that fails or is late, since it may never succeed. A forgiven cluster that is under way takes a
// place without a deadline.
func (r *run) forgive(status rollout.Status, entry *clusterv1alpha1.ClusterRolloutRecord, c *Cluster) rollout.Status {
	if entry.Phase != clusterv1alpha1.ClusterForgiven || status.State == rollout.StateSucceeded {
		return status
	}
	deadline := r.paceOf(c.Placement).Deadline
	late := deadline > 0 && !entry.Reached && c.State != rollout.StateToApply && !r.in.Now.Before(entry.StartedTime.Add(deadline))
	if late || status.State != rollout.StateProgressing {
		status.State, status.Forgiven = rollout.StateSkip, true
	}
	status.Since = time.Time{}
	return status
}

// start puts the clusters that start now on record.
func (r *run) start() {
	if r.record.FinishedTime != nil {
		return
	}
	inFlight := r.inFlight()
	for i, step := range r.out.Steps {
		for _, name := range step.Apply {
			c := r.clusters[name]
			switch entry := r.entries[name]; {
			case entry == nil:
			case entry.Phase == clusterv1alpha1.ClusterLost:
				r.again(entry)
			case !entry.Written:
				r.out.Restart[name] = true
			}
			if r.entries[name] != nil || c == nil || inFlight >= maxNamed {
				continue
			}
			inFlight++
			r.newEntry(c)
			r.group(r.in.Placements[i].Name, c.Group).Started++
			r.out.Begins[name] = true
			r.record.ObservedTime = metav1.NewMicroTime(r.in.Now)
		}
	}
}

// again starts a lost cluster that is back. It counts as a failure until it succeeds.
func (r *run) again(entry *clusterv1alpha1.ClusterRolloutRecord) {
	entry.Phase, entry.StartedTime, entry.Reached, entry.Written = clusterv1alpha1.ClusterFailed, metav1.NewMicroTime(r.in.Now), false, true
	entry.Reason = reason("%s; it is tried again", strings.TrimSuffix(entry.Reason, "; it is tried again"))
	r.out.Begins[entry.Name] = true
}

// retry starts lost clusters that are back where a breach holds all others: nothing new starts with them, and their success ends the
// breach.
func (r *run) retry(frozen []bool) {
	if r.open {
		return // a cluster that is under way may have a place that no step counts
	}
	for i := range r.out.Steps {
		step, strategy := &r.out.Steps[i], r.in.Placements[i].Strategy
		if frozen[i] || !step.Breached && !step.Elsewhere || strategy != nil && strategy.Paused {
			continue
		}
		for _, verdict := range step.Verdicts {
			entry := r.entries[verdict.Cluster]
			back := entry != nil && entry.Phase == clusterv1alpha1.ClusterLost && verdict.Code == rollout.WaitsForRepair
			if back && (!verdict.Closed || r.mustProve(entry)) && step.InFlight < step.MaxConcurrency {
				r.again(entry)
				step.InFlight++
			}
		}
	}
}

// finish ends the rollout where nothing is left to do, and gives the steps their last phase: what the phase shows is what is on record. A
// rollout in which all clusters are left out or forgiven has ended, and not finished: the former template stays the last that did.
func (r *run) finish() {
	r.wakeAt(r.nextWatch())
	for _, step := range r.out.Steps {
		r.wakeAt(step.Until)
	}
	if r.record.FinishedTime != nil || !r.ended() {
		return
	}
	expected, through, succeeded := r.progress()
	gate := r.closedGate()
	switch {
	case slices.ContainsFunc(r.in.Placements, func(p Placement) bool { return !p.Complete }):
		r.setPhase(rollout.PhaseWaiting)
	case gate != nil && succeeded > 0:
		r.setPhase(rollout.PhaseUnproven)
		for i := range r.out.Steps {
			r.out.Steps[i].Unproven = gate
		}
	case through < expected && !r.in.WithoutMissing:
		r.record.Missing = expected - through
		r.setPhase(rollout.PhaseMissing)
	case succeeded > 0:
		r.record.FinishedTime = new(metav1.NewMicroTime(r.in.Now))
	}
}

// ended reports whether no placement has anything left to do, and not all are empty.
func (r *run) ended() bool {
	finished := false
	for _, step := range r.out.Steps {
		if step.Phase != rollout.PhaseFinished && step.Phase != rollout.PhaseEmpty || step.Breached {
			return false
		}
		finished = finished || step.Phase == rollout.PhaseFinished
	}
	return finished
}

// setPhase sets the phase of the steps in which nothing is left to do.
func (r *run) setPhase(phase rollout.Phase) {
	for i := range r.out.Steps {
		if step := &r.out.Steps[i]; step.Phase == rollout.PhaseFinished {
			step.Phase = phase
		}
	}
}

// closedGate returns the first mandatory group that was not passed; nil for none.
func (r *run) closedGate() *clusterv1alpha1.MandatoryDecisionGroup {
	for _, placement := range r.in.Placements {
		for _, gate := range r.placement(placement.Name).Gates {
			if gate.Passed == "" {
				return new(effective(gate))
			}
		}
	}
	return nil
}

// progress counts the clusters that have to be through at the end, those that are when nothing is left to do, and those that succeeded.
func (r *run) progress() (expected, through, succeeded int32) {
	for i := range r.in.Placements {
		through += r.expected(i)
	}
	for name, entry := range r.entries {
		c, member := r.clusters[name], r.in.Members[name]
		switch selected := c != nil && c.Placement != NoPlacement; {
		case selected && entry.Phase == clusterv1alpha1.ClusterLost:
			through-- // it is back, and counts once
		case !selected && entry.Phase == clusterv1alpha1.ClusterLeft && (member.Gone || member.Denied || r.forgiven(name)):
			through++ // an edit dropped the others that left, before they succeeded
		}
	}
	for _, of := range r.record.Placements { // those that were taken out too: their clusters may be under another now
		expected += of.Total
		for _, group := range of.Groups {
			through += int32(r.lost(of.Name, group)) //nolint:gosec // it is bounded by the fleet
			succeeded += group.Succeeded
		}
	}
	return expected, through, succeeded
}

// wakeAt makes the run end at an instant; the zero time is never.
func (r *run) wakeAt(at time.Time) {
	if r.out.Until.IsZero() || !at.IsZero() && at.Before(r.out.Until) {
		r.out.Until = at
	}
}

// nextWatch renews the time of the record while a soak or a deadline runs, and returns when to do that next.
func (r *run) nextWatch() time.Time {
	runs := false
	for _, entry := range r.entries {
		selected := entry.Phase != clusterv1alpha1.ClusterLost && entry.Phase != clusterv1alpha1.ClusterLeft
		underWay := entry.Phase == clusterv1alpha1.ClusterInFlight && entry.Written && !entry.Reached
		late := underWay && r.paceOf(r.position(entry.Placement)).Deadline > 0
		runs = runs || selected && (entry.SucceededTime != nil || late)
	}
	if !runs || r.record.FinishedTime != nil {
		return time.Time{}
	}
	if r.in.Now.Sub(r.record.ObservedTime.Time) >= r.watchInterval() {
		r.record.ObservedTime = metav1.NewMicroTime(r.in.Now)
	}
	return r.record.ObservedTime.Add(r.watchInterval())
}
