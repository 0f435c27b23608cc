package evidence

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	"github.com/berth-project/berth/decision"
	"github.com/berth-project/berth/rollout"
)

// begin takes the stored record, or begins one from what the clusters have.
func (r *run) begin() {
	r.entries = map[string]*clusterv1alpha1.ClusterRolloutRecord{}
	if stored := r.in.Record; stored != nil && stored.Revision == r.in.Revision {
		r.record = stored.DeepCopy()
		for i := range r.record.Clusters {
			entry := r.record.Clusters[i]
			r.entries[entry.Name] = &entry
		}
		for _, placement := range r.in.Placements {
			r.placement(placement.Name) // a placement that was added has a part of its own
		}
		r.record.Missing = 0
		return
	}
	if r.in.Continues && r.in.Record.FinishedTime == nil {
		r.resume()
		return
	}
	now := metav1.NewMicroTime(r.in.Now)
	r.record = &clusterv1alpha1.RolloutRecord{
		Revision: r.in.Revision, Overrides: r.in.Continues, ProvenOverrides: r.in.Overrides, StartedTime: now, ObservedTime: now,
	}
	if r.in.Record != nil {
		r.record.ProvenOverrides = r.in.Record.ProvenOverrides
	}
	for _, placement := range r.in.Placements {
		r.placement(placement.Name)
	}
	if r.in.Finished && r.in.Record == nil {
		r.record.FinishedTime = &now
		return
	}
	for i := range r.in.Clusters {
		r.adopt(&r.in.Clusters[i])
	}
}

// resume goes on with the record of the template before its overrides changed. A failure counts on, and a mandatory group has to be proven
// anew. A cluster that has to be written again starts again.
func (r *run) resume() {
	r.record = r.in.Record.DeepCopy()
	r.record.Revision, r.record.Overrides, r.record.Missing = r.in.Revision, true, 0
	for i := range r.record.Placements {
		gates := r.record.Placements[i].Gates
		for j := range gates {
			gates[j].Passed, gates[j].Succeeded = "", 0
		}
	}
	for i := range r.record.Clusters {
		entry := r.record.Clusters[i]
		if c := r.clusters[entry.Name]; c != nil && c.State == rollout.StateToApply {
			entry.StartedTime, entry.SucceededTime, entry.Reached = metav1.NewMicroTime(r.in.Now), nil, false
		}
		r.entries[entry.Name] = &entry
	}
	for _, placement := range r.in.Placements {
		r.placement(placement.Name)
	}
}

// adopt takes a cluster that has the change before the record begins.
func (r *run) adopt(c *Cluster) {
	if c.Placement == NoPlacement || c.State == rollout.StateToApply || c.State == rollout.StateSkip {
		return
	}
	group := r.group(r.in.Placements[c.Placement].Name, c.Group)
	group.Started++
	if r.in.Continues { // the template has finished with other overrides, and this cluster has it
		group.Succeeded++
		return
	}
	if c.State == rollout.StateSucceeded && !r.in.Now.Before(c.Since.Add(r.paceOf(c.Placement).MinSuccessTime)) {
		group.Succeeded++
		return
	}
	if r.inFlight() >= maxNamed {
		group.Started--
		return // its state counts
	}
	r.adoptEntry(c)
}

// adoptEntry puts a cluster that has the change on record as in flight.
func (r *run) adoptEntry(c *Cluster) {
	entry := r.newEntry(c)
	entry.Written = true
	if !c.Started.IsZero() && c.Started.Before(r.in.Now) {
		entry.StartedTime = metav1.NewMicroTime(c.Started)
	}
	if c.State == rollout.StateSucceeded {
		entry.Reached, entry.SucceededTime = true, new(metav1.NewMicroTime(r.in.Now))
		r.record.ObservedTime = metav1.NewMicroTime(r.in.Now)
	}
}

// newEntry puts a cluster on record as in flight. Whether it is Available is seen by the next run.
func (r *run) newEntry(c *Cluster) *clusterv1alpha1.ClusterRolloutRecord {
	entry := &clusterv1alpha1.ClusterRolloutRecord{
		Name: c.Name, Placement: r.in.Placements[c.Placement].Name,
		GroupName: c.Group.Name, GroupIndex: int32(c.Group.Index), //nolint:gosec // it is small
		Phase: clusterv1alpha1.ClusterInFlight, StartedTime: metav1.NewMicroTime(r.in.Now), State: string(c.State),
	}
	r.entries[c.Name] = entry
	return entry
}

// placement returns the part of the record about a placement.
func (r *run) placement(name string) *clusterv1alpha1.PlacementRolloutRecord {
	for i := range r.record.Placements {
		if r.record.Placements[i].Name == name {
			return &r.record.Placements[i]
		}
	}
	out := clusterv1alpha1.PlacementRolloutRecord{Name: name}
	if at := r.position(name); at != NoPlacement {
		of := &r.in.Placements[at]
		out.Generation, out.UID, out.Base, out.Total = of.DecidedGeneration, of.UID, r.selected(at), r.added(at)
	}
	r.record.Placements = append(r.record.Placements, out)
	return &r.record.Placements[len(r.record.Placements)-1]
}

// position returns the position of a placement, or NoPlacement.
func (r *run) position(name string) int {
	return slices.IndexFunc(r.in.Placements, func(p Placement) bool { return p.Name == name })
}

// selected counts the clusters that a placement rules.
func (r *run) selected(placement int) int32 {
	out := 0
	for _, group := range r.in.Placements[placement].Ruled.Groups {
		out += len(group.Clusters)
	}
	return int32(min(out, 1<<29))
}

// added counts the clusters of a placement that have to be through, beyond those on record: a cluster that comes from another placement
// counts there.
func (r *run) added(placement int) int32 {
	out := int32(0)
	for i := range r.in.Placements {
		out += r.expected(i)
	}
	for _, of := range r.record.Placements {
		out -= of.Total
	}
	return min(r.expected(placement), max(0, out))
}

// expected counts the clusters of a placement that have to be through at the end.
func (r *run) expected(placement int) int32 {
	return r.selected(placement) + int32(min(r.in.Placements[placement].Elsewhere, 1<<29)) //nolint:gosec // it is bounded
}

// group returns the counts of a group.
func (r *run) group(placement string, key decision.GroupKey) *clusterv1alpha1.GroupRolloutRecord {
	of := r.placement(placement)
	for i := range of.Groups {
		if group := &of.Groups[i]; group.Name == key.Name && (key.Name != "" || int(group.Index) == key.Index) {
			return group
		}
	}
	of.Groups = append(of.Groups, clusterv1alpha1.GroupRolloutRecord{Name: key.Name, Index: int32(key.Index)}) //nolint:gosec // it is small
	return &of.Groups[len(of.Groups)-1]
}

func groupOf(entry *clusterv1alpha1.ClusterRolloutRecord) decision.GroupKey {
	return decision.GroupKey{Index: int(entry.GroupIndex), Name: entry.GroupName}
}

// sortedEntries returns the clusters on record by name.
func (r *run) sortedEntries() []*clusterv1alpha1.ClusterRolloutRecord {
	out := make([]*clusterv1alpha1.ClusterRolloutRecord, 0, len(r.entries))
	for _, entry := range r.entries {
		out = append(out, entry)
	}
	slices.SortFunc(out, func(a, b *clusterv1alpha1.ClusterRolloutRecord) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// inFlight counts the clusters on record that are in flight.
func (r *run) inFlight() int {
	out := 0
	for _, entry := range r.entries {
		if entry.Phase == clusterv1alpha1.ClusterInFlight {
			out++
		}
	}
	return out
}

// lost counts the lost clusters of a group: those on record, those beyond the names, and those that started and that nothing explains.
func (r *run) lost(placement string, group clusterv1alpha1.GroupRolloutRecord) int {
	named, explained := 0, int(group.Succeeded)
	for _, entry := range r.entries {
		if entry.Placement == placement && entry.GroupName == group.Name && (group.Name != "" || entry.GroupIndex == group.Index) {
			explained++
			if entry.Phase == clusterv1alpha1.ClusterLost {
				named++
			}
		}
	}
	return named + max(0, int(group.Started)-explained)
}

// count writes the clusters and their counts into the record.
func (r *run) count() {
	r.record.Clusters = nil
	named := map[clusterv1alpha1.ClusterRolloutPhase]int{}
	for i := range r.record.Placements {
		for j := range r.record.Placements[i].Groups {
			group := &r.record.Placements[i].Groups[j]
			group.Lost = int32(r.lost(r.record.Placements[i].Name, *group)) //nolint:gosec // it is bounded by the fleet
			group.Failed, group.Left = 0, 0
		}
	}
	for _, entry := range r.sortedEntries() {
		group := r.group(entry.Placement, groupOf(entry))
		switch entry.Phase {
		case clusterv1alpha1.ClusterFailed:
			group.Failed++
		case clusterv1alpha1.ClusterLeft:
			group.Left++
		case clusterv1alpha1.ClusterInFlight, clusterv1alpha1.ClusterLost, clusterv1alpha1.ClusterForgiven:
		}
		named[entry.Phase]++
		switch {
		case named[entry.Phase] <= maxNamed:
			r.record.Clusters = append(r.record.Clusters, *entry)
		case entry.Phase == clusterv1alpha1.ClusterLost:
			// It goes on counting: nothing explains where it is.
		case entry.Phase == clusterv1alpha1.ClusterFailed:
			group.Succeeded++ // its state counts from now on
		default:
			group.Started--
		}
	}
}

// reason shortens a text for a record.
func reason(format string, args ...any) string {
	const most = 200
	text := strings.ToValidUTF8(fmt.Sprintf(format, args...), "")
	return cmp.Or(strings.ToValidUTF8(text[:min(len(text), most)], ""), "unknown")
}
