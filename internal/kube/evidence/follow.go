package evidence

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	"github.com/berth-project/berth/rollout"
)

// follow brings every cluster on record up to what is seen of it now.
func (r *run) follow() {
	for _, entry := range r.sortedEntries() {
		c := r.clusters[entry.Name]
		switch selected := c != nil && c.Placement != NoPlacement; {
		case selected && entry.Phase == clusterv1alpha1.ClusterInFlight && r.goes(entry):
			r.leave(entry) // what its work reports on the way out is no failure
		case selected:
			r.see(entry, c)
		case c != nil && c.Held || !r.decided(entry.Placement):
			// It is not known whether it is selected.
			r.open = r.open || entry.Phase == clusterv1alpha1.ClusterInFlight || entry.Phase == clusterv1alpha1.ClusterFailed
		default:
			r.leave(entry)
		}
	}
	r.depart()
	r.editionsSeen()
}

// goes reports whether the ManagedCluster of a cluster is being deleted or is gone, and the cluster was healthy when it was last seen.
// That is never so for a cluster without a ManagedCluster. A decision still has it for a moment.
func (r *run) goes(entry *clusterv1alpha1.ClusterRolloutRecord) bool {
	return r.in.Members[entry.Name].Gone && entry.Available
}

// depart takes the clusters that leave and are not on record: those that had succeeded, and those that had not started. The latter are not
// expected any more if they are deleted or denied, and the former if an edit drops them: they have shown what they can.
func (r *run) depart() {
	for i := range r.in.Clusters {
		c := &r.in.Clusters[i]
		if !c.Leaves || r.entries[c.Name] != nil {
			continue
		}
		if c.Former == NoPlacement {
			r.departFormer(c)
			continue
		}
		of, member := r.placement(r.in.Placements[c.Former].Name), r.in.Members[c.Name]
		if c.State != rollout.StateToApply && c.State != rollout.StateSkip {
			r.lastGroup(of, c).Departed++
			r.out.Departs = true
			if r.edited(of.Name) {
				of.Total = max(0, of.Total-1)
			}
		} else if (member.Gone || member.Denied) && of.Total > 0 {
			of.Total--
			r.out.Departs = true
		}
	}
}

// departFormer takes a cluster that had succeeded and leaves with a placement that was taken out: it has shown what it can.
func (r *run) departFormer(c *Cluster) {
	for i := range r.record.Placements {
		of := &r.record.Placements[i]
		if has := c.State != rollout.StateToApply && c.State != rollout.StateSkip; has && of.Total > 0 && r.position(of.Name) == NoPlacement {
			of.Total--
			r.out.Departs = true
			return
		}
	}
}

// lastGroup returns the group in which a cluster that had succeeded counts: the first in which more succeeded than departed.
func (r *run) lastGroup(of *clusterv1alpha1.PlacementRolloutRecord, c *Cluster) *clusterv1alpha1.GroupRolloutRecord {
	for i := range of.Groups {
		if of.Groups[i].Succeeded > of.Groups[i].Departed {
			return &of.Groups[i]
		}
	}
	return r.group(of.Name, c.Group)
}

// see takes the report of a selected cluster.
func (r *run) see(entry *clusterv1alpha1.ClusterRolloutRecord, c *Cluster) {
	member := r.in.Members[entry.Name]
	switch entry.Phase {
	case clusterv1alpha1.ClusterLeft: // it comes as if it were new
		if r.goes(entry) {
			return
		}
		r.group(entry.Placement, groupOf(entry)).Started--
		delete(r.entries, entry.Name)
		return
	case clusterv1alpha1.ClusterLost:
		if r.forgiven(entry.Name) {
			r.group(entry.Placement, groupOf(entry)).Started--
			delete(r.entries, entry.Name) // it comes as if it were new
		}
		return // it is back, and waits for a place to try again
	case clusterv1alpha1.ClusterInFlight, clusterv1alpha1.ClusterFailed, clusterv1alpha1.ClusterForgiven:
	}
	if entry.Phase == clusterv1alpha1.ClusterFailed && r.forgiven(entry.Name) {
		entry.Phase = clusterv1alpha1.ClusterForgiven
	}
	entry.State, entry.Available = string(c.State), member.healthy()
	r.seeWritten(entry, c)
	if c.State != rollout.StateSucceeded || member.Unavailable {
		entry.SucceededTime = nil
	}
	switch c.State {
	case rollout.StateSucceeded:
		r.soak(entry, member)
	case rollout.StateFailed, rollout.StateTimedOut:
		r.fail(entry, reason("%s", c.Message))
	case rollout.StateToApply:
		if !entry.Written {
			return // it has not started, and waits as any other
		}
		if r.in.Placements[c.Placement].Returning {
			entry.Written = entry.Phase != clusterv1alpha1.ClusterInFlight
			return // it went back
		}
		r.out.Restart[entry.Name] = true
	case rollout.StateProgressing, rollout.StateSkip:
	}
	if deadline := r.paceOf(c.Placement).Deadline; deadline > 0 && !entry.Reached && c.State != rollout.StateSkip {
		if until := entry.StartedTime.Add(deadline); r.in.Now.Before(until) {
			r.wakeAt(until)
		} else {
			r.fail(entry, reason("the deadline passed at %s", until.UTC().Format(time.RFC3339)))
		}
	}
}

// seeWritten takes note that a cluster has the change. Its deadline runs from there, and not from when it went on record.
func (r *run) seeWritten(entry *clusterv1alpha1.ClusterRolloutRecord, c *Cluster) {
	if entry.Written || c.State == rollout.StateToApply || c.State == rollout.StateSkip {
		return
	}
	entry.Written = true
	if c.Started.After(entry.StartedTime.Time) && !c.Started.After(r.in.Now) {
		entry.StartedTime = metav1.NewMicroTime(c.Started)
	}
}

// forgiven reports whether a person has forgiven the failure of a cluster.
func (r *run) forgiven(name string) bool { return r.in.Forgiven != nil && r.in.Forgiven(name) }

// fail puts a cluster on record as failed, unless it is forgiven.
func (r *run) fail(entry *clusterv1alpha1.ClusterRolloutRecord, why string) {
	if entry.Phase == clusterv1alpha1.ClusterInFlight {
		entry.Phase, entry.Reason = clusterv1alpha1.ClusterFailed, why
		if r.forgiven(entry.Name) {
			entry.Phase = clusterv1alpha1.ClusterForgiven
		}
	}
}

// soak lets a cluster that succeeds soak. It is done once it has succeeded for minSuccessTime and gave a sign of life after that.
func (r *run) soak(entry *clusterv1alpha1.ClusterRolloutRecord, member Member) {
	entry.Reached = true
	pace := r.paceOf(r.clusters[entry.Name].Placement)
	if entry.SucceededTime == nil {
		entry.SucceededTime = new(metav1.NewMicroTime(r.in.Now))
		r.record.ObservedTime = metav1.NewMicroTime(r.in.Now)
	}
	end := entry.SucceededTime.Add(pace.MinSuccessTime)
	switch {
	case r.in.Now.Before(end):
		r.wakeAt(end)
	case member.Unavailable:
		// There is no sign of it: it may have failed.
	case pace.MinSuccessTime > 0 && !member.Renewed.IsZero() && member.Renewed.Before(end):
		r.wakeAt(r.in.Now.Add(signInterval))
	default:
		r.group(entry.Placement, groupOf(entry)).Succeeded++
		r.prove(entry.Name, 1)
		delete(r.entries, entry.Name)
	}
}

// signInterval is how often a sign of life is looked for after the end of a soak.
const signInterval = 2 * time.Second

// decided reports whether the decision shows that a cluster is not selected. A placement that the change is no longer rolled out over
// selects no cluster.
func (r *run) decided(placement string) bool {
	at := r.position(placement)
	return at == NoPlacement || r.in.Placements[at].Complete
}

// leave takes a cluster that is no longer selected.
func (r *run) leave(entry *clusterv1alpha1.ClusterRolloutRecord) {
	forgiven := r.forgiven(entry.Name)
	if entry.Phase == clusterv1alpha1.ClusterForgiven || entry.Phase == clusterv1alpha1.ClusterLost && forgiven {
		entry.Phase, entry.SucceededTime = clusterv1alpha1.ClusterLeft, nil
	}
	if entry.Phase != clusterv1alpha1.ClusterInFlight && entry.Phase != clusterv1alpha1.ClusterFailed {
		return
	}
	member := r.in.Members[entry.Name]
	why, excused := "is no longer selected", false
	switch {
	case member.Gone:
		why, excused = "was deleted", true
	case member.Denied:
		why, excused = "is denied", true
	case r.edited(entry.Placement) && !r.tainted(entry):
		why, excused = "was dropped by an edit", true
	case member.Unavailable:
		why = "fell silent"
	case r.tainted(entry):
		why = "was tainted"
	}
	failed, available := r.hasFailed(entry), entry.Available && (member.Gone || !member.Unavailable)
	entry.SucceededTime, entry.Phase = nil, clusterv1alpha1.ClusterLost
	if excused && available && !failed {
		entry.Phase = clusterv1alpha1.ClusterLeft
	}
	switch {
	case failed:
		entry.Reason = reason("failed, and %s", why)
	case !available && excused:
		entry.Reason = reason("was not Available, and %s", why)
	default:
		entry.Reason = reason("%s before it succeeded", why)
	}
}

// tainted reports whether a cluster was tainted after it had started: the taint takes it away, whatever an edit does at the same time.
func (r *run) tainted(entry *clusterv1alpha1.ClusterRolloutRecord) bool {
	started := entry.StartedTime.Time
	if c := r.clusters[entry.Name]; c != nil && !c.Started.IsZero() {
		started = c.Started // it does not move with the time in which no manager watched
	}
	at := r.in.Members[entry.Name].Tainted
	return !at.IsZero() && !at.Before(started.Truncate(time.Second)) // a taint has whole seconds
}

// hasFailed reports whether a cluster that leaves has failed. What it reports while it is not known whether it is selected counts, but not
// what it reports while it is being deleted.
func (r *run) hasFailed(entry *clusterv1alpha1.ClusterRolloutRecord) bool {
	if entry.Phase == clusterv1alpha1.ClusterFailed || entry.State == string(rollout.StateFailed) {
		return true
	}
	c := r.clusters[entry.Name]
	return c != nil && c.State == rollout.StateFailed && !r.in.Members[entry.Name].Gone
}

// edited reports whether a placement was edited since its last decision: clusters may be dropped on purpose.
func (r *run) edited(placement string) bool {
	at := r.position(placement)
	if at == NoPlacement {
		return true // it was taken out of the object that is rolled out
	}
	p, of := r.in.Placements[at], r.placement(placement)
	return p.Generation != p.DecidedGeneration || p.DecidedGeneration != of.Generation || of.UID != "" && p.UID != of.UID
}

// editionsSeen takes note of the placements that have decided for the first time or after an edit. Clusters that an edit adds are expected
// from then on; those that it drops are expected still, or a template would finish because the selection shrank.
func (r *run) editionsSeen() {
	for i, p := range r.in.Placements {
		of := r.placement(p.Name)
		if p.Complete && of.Base == 0 {
			of.Total = 0
			of.Base, of.Total = r.selected(i), r.added(i)
		}
		if p.Complete && p.Generation == p.DecidedGeneration && (p.DecidedGeneration != of.Generation || p.UID != of.UID) {
			of.Generation, of.UID = p.DecidedGeneration, p.UID
			of.Total += r.added(i)
		}
	}
}

// unrecorded puts clusters on record that have the change and are not on record, where more have it than succeeded: an older record was
// restored. Which of them had succeeded is not known, so that any that does not report success may be in flight.
func (r *run) unrecorded() {
	has := func(c *Cluster) bool {
		return c.Placement != NoPlacement && r.entries[c.Name] == nil && c.State != rollout.StateToApply && c.State != rollout.StateSkip
	}
	unexplained := 0
	for i := range r.in.Clusters {
		if has(&r.in.Clusters[i]) {
			unexplained++
		}
	}
	for i := range r.record.Placements {
		for _, group := range r.record.Placements[i].Groups {
			unexplained -= int(group.Succeeded - group.Departed)
		}
	}
	inFlight := r.inFlight()
	for _, state := range []rollout.State{rollout.StateProgressing, rollout.StateSucceeded} { // regress has those that failed
		for i := range r.in.Clusters {
			c := &r.in.Clusters[i]
			if !has(c) || c.State != state || unexplained <= 0 || inFlight >= maxNamed {
				continue
			}
			unexplained--
			group := r.group(r.in.Placements[c.Placement].Name, c.Group)
			group.Started++
			if state == rollout.StateSucceeded && r.paceOf(c.Placement).MinSuccessTime == 0 {
				group.Succeeded++
				continue
			}
			inFlight++
			r.adoptEntry(c)
		}
	}
}

// regress puts clusters on record that had succeeded and fail now.
func (r *run) regress() {
	failed := 0
	for _, entry := range r.entries {
		if entry.Phase == clusterv1alpha1.ClusterFailed {
			failed++
		}
	}
	for i := range r.in.Clusters {
		c := &r.in.Clusters[i]
		if c.Placement == NoPlacement || c.State != rollout.StateFailed || r.entries[c.Name] != nil || failed >= maxNamed {
			continue
		}
		failed++
		entry := r.newEntry(c)
		entry.Reached, entry.Written = true, true
		group := r.group(entry.Placement, groupOf(entry))
		r.prove(entry.Name, -1)
		switch from := r.lastGroup(r.placement(entry.Placement), c); {
		case group.Succeeded > 0:
			group.Succeeded--
		case from.Succeeded > from.Departed: // it succeeded in another group
			from.Succeeded, from.Started, group.Started = from.Succeeded-1, from.Started-1, group.Started+1
		default:
			group.Started++
		}
		r.fail(entry, reason("%s", c.Message))
	}
}
