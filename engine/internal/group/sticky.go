package group

import (
	"cmp"
	"slices"

	"github.com/bits-and-blooms/bitset"

	"github.com/berth-project/berth/engine/fleet"
)

// strategyChanged reports whether the prior slices were filled under another strategy. A slice without a strategy counts
// as filled under the current one.
func (a *assigner) strategyChanged() bool {
	return slices.ContainsFunc(a.in.Prior, func(s fleet.Slice) bool {
		return s.Strategy != "" && s.Strategy != a.in.Strategy.Fingerprint
	})
}

// groupKey identifies a prior group.
type groupKey struct {
	index int
	name  string
}

// keepPrior makes partial groups out of the prior slices. Each cluster that is still selected and still qualifies stays
// in its group, in the lowest slice that has it. Groups and slices without such a cluster are dropped. After that the
// position of a partial group replaces its index. A stored index is only compared, because an addition could overflow.
func (a *assigner) keepPrior() {
	if len(a.in.Prior) == 0 {
		return
	}
	selected, missing := sortedNames{names: a.names(a.in.Selected)}, bitset.New(uint(len(a.in.Selected)))
	missing.FlipRange(0, uint(len(a.in.Selected)))
	pools, taken := map[groupKey]*partialGroup{}, map[int]bool{}
	for _, slice := range a.in.Prior {
		if slice.GroupIndex < 0 {
			continue
		}
		var stay []string
		for _, name := range slice.Clusters {
			at, ok := selected.find(name)
			if ok && missing.Test(at) && a.stays(a.in.Selected[at], slice.Group) {
				missing.Clear(at)
				stay = append(stay, name)
			}
		}
		if len(stay) == 0 {
			continue
		}
		group := groupKey{slice.GroupIndex, slice.Group}
		if pools[group] == nil {
			pools[group] = &partialGroup{name: slice.Group, index: slice.GroupIndex}
			a.groups = append(a.groups, pools[group])
		}
		pools[group].retain(slice.Number, stay, taken)
	}
	a.newcomers = nil
	for at := range missing.EachSet() {
		a.newcomers = append(a.newcomers, a.in.Selected[at])
	}
	a.sortGroups()
	for i, pool := range a.groups {
		pool.index = i
	}
}

// sortedNames finds names in a sorted list. Names that are looked up in order are found without a search.
type sortedNames struct {
	names []string
	next  uint
}

// find returns the position of a name.
func (s *sortedNames) find(name string) (at uint, ok bool) {
	if s.next >= uint(len(s.names)) || s.names[s.next] != name {
		found, ok := slices.BinarySearch(s.names, name)
		if !ok {
			return 0, false
		}
		s.next = uint(found)
	}
	s.next++
	return s.next - 1, true
}

// retain puts the clusters that stay into their slice, and marks its number as used. A slice over the limit keeps its
// first clusters by name. A cluster stays in the group and gets another slice if its slice has no room or no valid
// number. A number is invalid if another writer created the object with the label of the placement.
func (p *partialGroup) retain(number int, stay []string, taken map[int]bool) {
	if number < 1 || taken[number] {
		p.unplaced = append(p.unplaced, stay...)
		return
	}
	taken[number] = true
	slices.Sort(stay)
	room := min(SliceLimit, len(stay))
	p.slices = append(p.slices, Slice{Number: number, Clusters: slices.Clone(stay[:room])})
	p.unplaced = append(p.unplaced, stay[room:]...)
}

// stays reports whether a cluster stays in a group of this name.
func (a *assigner) stays(id fleet.ID, name string) bool {
	if a.qualifies(id, name) {
		return true
	}
	if a.in.Retained == nil || !a.in.Retained.Test(id) {
		return false
	}
	a.retained = append(a.retained, a.in.Snapshot.Name(id))
	return true
}

// qualifies reports whether a cluster may stay in a group of this name. Either a predefined group of the name still
// matches it, or the group is unnamed and no predefined group claims it.
func (a *assigner) qualifies(id fleet.ID, name string) bool {
	if name == "" {
		_, claimed := a.firstMatch[id]
		return !claimed
	}
	matching := a.allowedByName[name]
	return matching != nil && matching.Test(id)
}

// trimOversized removes the last clusters by name from every group above its bound, and makes them newcomers.
func (a *assigner) trimOversized() {
	bound := a.in.Strategy.MaxGroupSize(a.length)
	for _, pool := range a.groups {
		if pool.size() <= bound {
			continue
		}
		names := slices.Clone(pool.unplaced)
		for _, slice := range pool.slices {
			names = append(names, slice.Clusters...)
		}
		slices.Sort(names)
		pool.drop(names[bound:])
		a.regrouped = append(a.regrouped, names[bound:]...)
	}
	if len(a.regrouped) == 0 {
		return
	}
	slices.Sort(a.regrouped)
	for _, name := range a.regrouped {
		if id, ok := a.in.Snapshot.ID(name); ok {
			a.newcomers = append(a.newcomers, id)
		}
	}
	slices.SortFunc(a.newcomers, func(x, y fleet.ID) int {
		return cmp.Compare(a.in.Snapshot.Name(x), a.in.Snapshot.Name(y))
	})
}

// drop removes names from the partial group. The names are sorted.
func (p *partialGroup) drop(names []string) {
	dropped := func(name string) bool {
		_, found := slices.BinarySearch(names, name)
		return found
	}
	p.unplaced = slices.DeleteFunc(p.unplaced, dropped)
	for i := range p.slices {
		p.slices[i].Clusters = slices.DeleteFunc(p.slices[i].Clusters, dropped)
	}
	p.slices = slices.DeleteFunc(p.slices, func(s Slice) bool { return len(s.Clusters) == 0 })
}

// openGroup is a group with room for some more clusters.
type openGroup struct {
	pool *partialGroup
	room int
}

// placeNewcomers puts every newcomer into a group of the name that claims it: the last group with room, else the first
// with room, else a new group.
func (a *assigner) placeNewcomers() {
	vacant := a.openGroups()
	for _, id := range a.newcomers {
		name := ""
		if claim, claimed := a.firstMatch[id]; claimed {
			name = a.in.Strategy.Groups[claim].Name
		}
		if len(vacant[name]) == 0 {
			opened := &partialGroup{name: name, index: len(a.groups)}
			a.groups = append(a.groups, opened)
			vacant[name] = []openGroup{{opened, a.length}}
		}
		next := &vacant[name][0]
		next.pool.unplaced = append(next.pool.unplaced, a.in.Snapshot.Name(id))
		if next.room--; next.room == 0 {
			vacant[name] = vacant[name][1:]
		}
	}
}

// openGroups returns, per name, the groups with room in the order in which newcomers join them: the last group of the
// name, then the others from the first. A new group is the last of its name until it is full. By then no other group has
// room, so the order holds while newcomers join.
func (a *assigner) openGroups() map[string][]openGroup {
	last := map[string]*partialGroup{}
	for _, pool := range a.groups {
		last[pool.name] = pool
	}
	out := make(map[string][]openGroup, len(last))
	add := func(pool *partialGroup) {
		if room := a.length - pool.size(); room > 0 {
			out[pool.name] = append(out[pool.name], openGroup{pool, room})
		}
	}
	for _, pool := range last {
		add(pool)
	}
	for _, pool := range a.groups {
		if pool != last[pool.name] {
			add(pool)
		}
	}
	return out
}

// sortGroups orders the partial groups: named groups as the spec names them, then unnamed groups. Groups of one name are
// ordered by index.
func (a *assigner) sortGroups() {
	ranks := make(map[string]int, len(a.in.Strategy.Groups))
	for i, group := range slices.Backward(a.in.Strategy.Groups) {
		ranks[group.Name] = i
	}
	rank := func(name string) int {
		if at, named := ranks[name]; named {
			return at
		}
		return len(a.in.Strategy.Groups)
	}
	slices.SortStableFunc(a.groups, func(x, y *partialGroup) int {
		return cmp.Or(cmp.Compare(rank(x.name), rank(y.name)), cmp.Compare(x.index, y.index))
	})
}
