package plan

import (
	"cmp"
	"slices"
	"time"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine"
)

// diff compares the wanted slices with the stored slices.
type diff struct {
	result    *engine.Result
	placement *clusterv1beta1.Placement
	changes   []change
	surplus   []*clusterv1beta1.PlacementDecision
	// former are the slices of a deleted placement of the same name.
	former []*clusterv1beta1.PlacementDecision
	// wanted is the slice number of each selected cluster.
	wanted map[string]int
	// listedIn has the numbers of the slices in which readers see each cluster.
	listedIn map[string][]int
	// stored are the clusters of all stored slices, listed or not.
	stored map[string]struct{}
	// own are the stored slices without the former ones.
	own []*clusterv1beta1.PlacementDecision
	// storedEntries are the stored entries of clusters for which the result has none.
	storedEntries map[string]clusterv1beta1.ClusterDecision
	// scoresDue is when to write, if only scores have changed and were written a short time ago; otherwise zero.
	scoresDue time.Time
	// dropped are the fields that the API server does not store.
	dropped Dropped
}

// change is one slice, wanted and stored; stored is nil if it is new.
type change struct {
	target target
	stored *clusterv1beta1.PlacementDecision
	// listed is set if readers see the stored slice: it has the label of the placement, by which they list.
	listed bool
	// listedClusters are the distinct clusters that readers see in the stored slice, sorted.
	listedClusters []string
	// moving are the stored clusters that move to another slice and are not there yet.
	moving []string
	// growth is by how many distinct clusters the first write of the slice enlarges the decisions.
	growth int
}

func newDiff(result *engine.Result, stored Stored, now time.Time) *diff {
	d := &diff{
		result: result, placement: stored.Placement, wanted: map[string]int{}, listedIn: map[string][]int{}, stored: map[string]struct{}{},
		dropped: stored.Dropped,
	}
	byNumber := map[int]*clusterv1beta1.PlacementDecision{}
	d.own = make([]*clusterv1beta1.PlacementDecision, 0, len(stored.Slices))
	for _, slice := range stored.Slices {
		if stored.ofFormer(slice) {
			d.former = append(d.former, slice)
			continue
		}
		d.own = append(d.own, slice)
		owner, number, named := Owner(slice)
		if named && owner == result.Key {
			byNumber[number] = slice
		} else {
			d.surplus = append(d.surplus, slice)
			number = 0
		}
		for _, name := range Clusters(slice) {
			d.stored[name] = struct{}{}
		}
		for _, name := range d.listedClusters(slice) {
			d.listedIn[name] = append(d.listedIn[name], number)
		}
	}
	for _, slice := range result.Slices() {
		c := change{
			target: target{slice.Number, slice.Group, slice.GroupIndex, slice.Strategy, slice.Clusters},
			stored: byNumber[slice.Number],
		}
		if c.stored != nil {
			c.listed, c.listedClusters = d.listed(c.stored), d.listedClusters(c.stored)
		}
		for _, name := range slice.Clusters {
			d.wanted[name] = slice.Number
		}
		d.changes = append(d.changes, c)
		delete(byNumber, slice.Number)
	}
	for _, slice := range byNumber {
		d.surplus = append(d.surplus, slice)
	}
	slices.SortFunc(d.surplus, byName)
	slices.SortFunc(d.former, byName)
	d.readEntries(d.own)
	d.scoresDue = d.nextScores(now)
	return d
}

func byName(a, b *clusterv1beta1.PlacementDecision) int { return cmp.Compare(a.Name, b.Name) }

// listed reports whether a stored slice has the label of the placement, by which readers list.
func (d *diff) listed(slice *clusterv1beta1.PlacementDecision) bool {
	return slice.Labels[clusterv1beta1.PlacementLabel] == d.placement.Name
}

// listedClusters returns the distinct clusters that readers see in a stored slice, sorted.
func (d *diff) listedClusters(slice *clusterv1beta1.PlacementDecision) []string {
	if !d.listed(slice) {
		return nil
	}
	return slices.Compact(slices.Sorted(slices.Values(Clusters(slice))))
}

// measureGrowth finds which clusters move to another slice, and by how much the first write of the slice enlarges the decisions.
func (d *diff) measureGrowth(c *change) {
	for _, name := range c.listedClusters {
		number, stays := d.wanted[name]
		switch {
		case !stays:
			c.growth--
		case number != c.target.number && !slices.Contains(d.listedIn[name], number):
			c.moving = append(c.moving, name)
		}
	}
	for _, name := range c.target.clusters {
		if len(d.listedIn[name]) == 0 {
			c.growth++
		}
	}
}

// writes returns the writes in order:
//
// 1. Delete the slices of a deleted placement of the same name.
//
// 2. Remove the clusters that are in no wanted slice from surplus slices.
//
// 3. Create new slices with their decisions and without the label, so that no reader lists them empty.
//
// 4. Add new clusters to each slice and remove the deselected ones; clusters that move stay for now. New slices get their label.
// Slices that shrink the decisions go before those that enlarge them, so that no reader counts too many clusters.
//
// 5. Correct the labels of the other slices, and remove clusters that moved from their old slice.
//
// 6. Delete surplus slices.
func (d *diff) writes() []Write {
	var out []Write
	for _, slice := range d.former {
		out = append(out, Write{Verb: Delete, Slice: slice})
	}
	out = append(append(out, d.removeUnwanted()...), d.removeDuplicates()...)
	for i := range d.changes {
		d.measureGrowth(&d.changes[i])
		out = append(out, d.createUnlisted(d.changes[i])...)
	}
	for _, grows := range []bool{false, true} {
		for _, c := range d.changes {
			if grows == (c.growth > 0) {
				out = append(out, d.publish(c)...)
			}
		}
	}
	for _, c := range d.changes {
		if c.listed && !c.target.hasMetadata(c.stored, d.placement) {
			out = append(out, d.updateMetadata(c))
		}
	}
	for _, c := range d.changes {
		if len(c.moving) > 0 {
			out = append(out, Write{Verb: UpdateDecisions, Slice: d.withDecisions(c.stored, c.target.clusters)})
		}
	}
	for _, slice := range d.surplus {
		out = append(out, Write{Verb: Delete, Slice: slice})
	}
	return out
}

// createUnlisted returns the writes that no reader finds: the decisions of a slice without the label of the placement.
func (d *diff) createUnlisted(c change) []Write {
	switch {
	case c.stored == nil:
		return []Write{{Verb: Create, Slice: c.target.object(d.placement, d.decisions(c.target.clusters))}}
	case !c.listed:
		return d.updateDecisions(c)
	default:
		return nil
	}
}

// publish returns the first write of a slice that readers see, if it needs one.
func (d *diff) publish(c change) []Write {
	if c.listed {
		return d.updateDecisions(c)
	}
	return []Write{d.updateMetadata(c)}
}

// updateMetadata returns the write of the labels, annotations and owner of a slice.
func (d *diff) updateMetadata(c change) Write {
	object := c.stored.DeepCopy()
	if object == nil {
		object = c.target.object(d.placement, d.decisions(c.target.clusters))
	}
	c.target.setMetadata(object, d.placement)
	return Write{Verb: UpdateMetadata, Slice: object}
}

// removeUnwanted removes deselected clusters from the surplus slices, so that no reader counts them while other slices grow. A
// slice without other clusters is deleted; a slice with moving clusters keeps these.
func (d *diff) removeUnwanted() []Write {
	var out []Write
	var late []*clusterv1beta1.PlacementDecision
	for _, slice := range d.surplus {
		all := d.listedClusters(slice)
		stay := slices.DeleteFunc(slices.Clone(all), func(name string) bool {
			_, stays := d.wanted[name]
			return !stays
		})
		switch {
		case len(stay) == 0:
			out = append(out, Write{Verb: Delete, Slice: slice})
			continue
		case len(stay) < len(all):
			out = append(out, Write{Verb: UpdateDecisions, Slice: d.withDecisions(slice, stay)})
		}
		late = append(late, slice)
	}
	d.surplus = late
	return out
}

// removeDuplicates removes deselected clusters from all but the last of the slices that have them, as an interrupted plan may
// leave them. Otherwise the write of the first slice would enlarge the decisions.
func (d *diff) removeDuplicates() []Write {
	var out []Write
	seen := map[string]bool{}
	for i := range slices.Backward(d.changes) {
		c := &d.changes[i]
		all := len(c.listedClusters)
		c.listedClusters = slices.DeleteFunc(c.listedClusters, func(name string) bool {
			_, stays := d.wanted[name]
			again := seen[name]
			seen[name] = !stays
			return again && !stays
		})
		if len(c.listedClusters) < all {
			c.stored = d.withDecisions(c.stored, c.listedClusters)
			out = append(out, Write{Verb: UpdateDecisions, Slice: c.stored})
		}
	}
	return out
}

// updateDecisions returns the first write of the decisions of a stored slice, if it needs one.
func (d *diff) updateDecisions(c change) []Write {
	names := append(slices.Clone(c.target.clusters), c.moving...)
	next := d.withDecisions(c.stored, names)
	if !d.scoresDue.IsZero() || c.stored.Status.Decisions != nil && slices.Equal(c.stored.Status.Decisions, next.Status.Decisions) {
		return nil
	}
	return []Write{{Verb: UpdateDecisions, Slice: next}}
}

func (d *diff) withDecisions(stored *clusterv1beta1.PlacementDecision, names []string) *clusterv1beta1.PlacementDecision {
	out := stored.DeepCopy()
	out.Status.Decisions = d.decisions(names)
	return out
}
