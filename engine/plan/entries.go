package plan

import (
	"cmp"
	"slices"
	"time"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/fleet"
)

// entry returns what readers see of a cluster: the details of the result or, without a decision and for a deselected cluster,
// the stored entry.
func (d *diff) entry(name string) clusterv1beta1.ClusterDecision {
	if _, wanted := d.wanted[name]; !wanted || !d.result.Decided {
		out := d.storedEntries[name]
		out.ClusterName = name
		return out
	}
	shown := d.result.Details[name]
	return clusterv1beta1.ClusterDecision{ClusterName: name, Reason: shown.Tier, Score: shown.Score}
}

// readEntries reads the stored entries of clusters for which the result has no details. If several slices have a cluster, the
// first counts, in the order of group.Keep.
func (d *diff) readEntries(stored []*clusterv1beta1.PlacementDecision) {
	type read struct {
		fleet.Slice

		entries []clusterv1beta1.ClusterDecision
	}
	var all []read
	for _, slice := range stored {
		all = append(all, read{ReadSlice(slice), slice.Status.Decisions})
	}
	slices.SortFunc(all, func(a, b read) int {
		return cmp.Or(cmp.Compare(a.GroupIndex, b.GroupIndex), cmp.Compare(a.Group, b.Group), cmp.Compare(a.Number, b.Number),
			cmp.Compare(a.Strategy, b.Strategy), slices.Compare(a.Clusters, b.Clusters))
	})
	d.storedEntries = map[string]clusterv1beta1.ClusterDecision{}
	for _, slice := range all {
		for _, entry := range slice.entries {
			_, wanted := d.wanted[entry.ClusterName]
			_, known := d.storedEntries[entry.ClusterName]
			if !known && (!wanted || !d.result.Decided) {
				d.storedEntries[entry.ClusterName] = entry
			}
		}
	}
}

// decisions returns the entries of a slice: by score, highest first, then by name. It is never nil: a written status always has
// the list.
func (d *diff) decisions(names []string) []clusterv1beta1.ClusterDecision {
	out := make([]clusterv1beta1.ClusterDecision, 0, len(names))
	for _, name := range names {
		out = append(out, d.entry(name))
	}
	if len(d.dropped.Decision) > 0 {
		out = append([]clusterv1beta1.ClusterDecision{}, d.dropped.decisions(out)...)
	}
	slices.SortFunc(out, func(a, b clusterv1beta1.ClusterDecision) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ClusterName, b.ClusterName))
	})
	return out
}

// nextScores returns when slices may be written in which only scores, and by them the order, have changed. It is zero if that is
// now, if more has changed, and if nothing has.
func (d *diff) nextScores(now time.Time) time.Time {
	last := d.placement.Status.LastScoreUpdateTime
	if !d.result.ByScore || last == nil || !now.Before(last.Add(d.result.ScoreInterval)) || len(d.surplus) > 0 {
		return time.Time{}
	}
	changed := false
	for _, c := range d.changes {
		next := d.decisions(c.target.clusters)
		if c.stored == nil || c.stored.Status.Decisions == nil || !sameButScores(c.stored.Status.Decisions, next) {
			return time.Time{}
		}
		changed = changed || !slices.Equal(c.stored.Status.Decisions, next)
	}
	if !changed {
		return time.Time{}
	}
	return last.Add(d.result.ScoreInterval)
}

// sameButScores reports whether two lists have the same clusters with the same reasons.
func sameButScores(a, b []clusterv1beta1.ClusterDecision) bool {
	plain := func(in []clusterv1beta1.ClusterDecision) []clusterv1beta1.ClusterDecision {
		out := slices.Clone(in)
		for i := range out {
			out[i].Score = 0
		}
		slices.SortFunc(out, func(a, b clusterv1beta1.ClusterDecision) int { return cmp.Compare(a.ClusterName, b.ClusterName) })
		return out
	}
	return slices.Equal(plain(a), plain(b))
}

// writesScores reports whether writes include scores: those of wanted slices do.
func (d *diff) writesScores(writes []Write) bool {
	if !d.result.ByScore {
		return false
	}
	surplus := map[string]bool{}
	for _, slice := range d.surplus {
		surplus[slice.Name] = true
	}
	return slices.ContainsFunc(writes, func(w Write) bool {
		return w.Verb == Create || w.Verb == UpdateDecisions && !surplus[w.Slice.Name]
	})
}
