package group

import (
	"cmp"
	"slices"

	"github.com/bits-and-blooms/bitset"

	"github.com/berth-project/berth/engine/fleet"
)

// strategyChanged says whether the prior slices were filled under another strategy. A slice that does not say counts
// as filled under this one.
func (a *assignment) strategyChanged() bool {
	return slices.ContainsFunc(a.Prior, func(s fleet.Slice) bool {
		return s.Strategy != "" && s.Strategy != a.Strategy.Fingerprint
	})
}

// groupID tells prior groups apart.
type groupID struct {
	index int
	name  string
}

// keep makes the pools out of the prior slices: each cluster that is still selected and still qualifies stays where
// it is, in the lowest slice that has it. Pools and slices that nobody stays in are forgotten.
func (a *assignment) keep() {
	if len(a.Prior) == 0 {
		return
	}
	roster, missing := roster{names: a.names(a.Selected)}, bitset.New(uint(len(a.Selected)))
	missing.FlipRange(0, uint(len(a.Selected)))
	pools, taken := map[groupID]*pool{}, map[int]bool{}
	for _, slice := range a.Prior {
		if slice.GroupIndex < 0 {
			continue
		}
		var stay []string
		for _, name := range slice.Clusters {
			at, ok := roster.find(name)
			if ok && missing.Test(at) && a.qualifies(a.Selected[at], slice.Group) {
				missing.Clear(at)
				stay = append(stay, name)
			}
		}
		if len(stay) == 0 {
			continue
		}
		group := groupID{slice.GroupIndex, slice.Group}
		if pools[group] == nil {
			pools[group] = &pool{name: slice.Group, prior: slice.GroupIndex}
			a.pools = append(a.pools, pools[group])
		}
		pools[group].seat(slice.Number, stay, taken)
	}
	a.newcomers = nil
	for at := range missing.EachSet() {
		a.newcomers = append(a.newcomers, a.Selected[at])
	}
	a.arrange()
}

// roster is names in order. Whoever looks them up in order as well finds each beside the one before.
type roster struct {
	names []string
	next  uint
}

// find returns the position of a name.
func (r *roster) find(name string) (at uint, ok bool) {
	if r.next >= uint(len(r.names)) || r.names[r.next] != name {
		found, ok := slices.BinarySearch(r.names, name)
		if !ok {
			return 0, false
		}
		r.next = uint(found)
	}
	r.next++
	return r.next - 1, true
}

// seat puts those who stay into the slice they are in, and marks its number as taken. A slice over the limit keeps its
// first by name. Those who have no room, or whose slice has no number that a slice of the placement may have, stay in
// the group and get another slice: a stranger's object counts as a slice if it has the label.
func (p *pool) seat(number int, stay []string, taken map[int]bool) {
	if number < 1 || taken[number] {
		p.loose = append(p.loose, stay...)
		return
	}
	taken[number] = true
	slices.Sort(stay)
	room := min(SliceLimit, len(stay))
	p.slices = append(p.slices, Slice{Number: number, Clusters: slices.Clone(stay[:room])})
	p.loose = append(p.loose, stay[room:]...)
}

// qualifies says whether a cluster may stay in a group of this name: a predefined group of the name still matches it,
// or the group is unnamed and no predefined group claims it.
func (a *assignment) qualifies(id fleet.ID, name string) bool {
	if name == "" {
		_, claimed := a.claim[id]
		return !claimed
	}
	matching := a.named[name]
	return matching != nil && matching.Test(id)
}

// spill turns the last by name of every group over the length into newcomers. Only a fixed length spills: one that is
// a percentage moves with the total, which is no reason to move a cluster.
func (a *assignment) spill() {
	if a.Strategy.Percent {
		return
	}
	for _, pool := range a.pools {
		over := pool.size() - a.length
		if over <= 0 {
			continue
		}
		names := slices.Clone(pool.loose)
		for _, slice := range pool.slices {
			names = append(names, slice.Clusters...)
		}
		slices.Sort(names)
		pool.drop(names[len(names)-over:])
		for _, name := range names[len(names)-over:] {
			if id, ok := a.Snapshot.ID(name); ok {
				a.newcomers = append(a.newcomers, id)
			}
		}
	}
	slices.SortFunc(a.newcomers, func(x, y fleet.ID) int {
		return cmp.Compare(a.Snapshot.Name(x), a.Snapshot.Name(y))
	})
}

// drop removes names, which is sorted, from the pool.
func (p *pool) drop(names []string) {
	dropped := func(name string) bool {
		_, found := slices.BinarySearch(names, name)
		return found
	}
	p.loose = slices.DeleteFunc(p.loose, dropped)
	for i := range p.slices {
		p.slices[i].Clusters = slices.DeleteFunc(p.slices[i].Clusters, dropped)
	}
	p.slices = slices.DeleteFunc(p.slices, func(s Slice) bool { return len(s.Clusters) == 0 })
}

// join gives every newcomer a group of the name that claims it: the last with room, else the first with room, else a
// new one.
func (a *assignment) join() {
	for _, id := range a.newcomers {
		name := ""
		if claim, claimed := a.claim[id]; claimed {
			name = a.Strategy.Groups[claim].Name
		}
		home := a.withRoom(name)
		if home == nil {
			home = &pool{name: name, prior: a.afterLast()}
			a.pools = append(a.pools, home)
		}
		home.loose = append(home.loose, a.Snapshot.Name(id))
	}
}

func (a *assignment) withRoom(name string) *pool {
	var first, last *pool
	for _, pool := range a.pools {
		if pool.name != name {
			continue
		}
		last = pool
		if first == nil && pool.size() < a.length {
			first = pool
		}
	}
	if last != nil && last.size() < a.length {
		return last
	}
	return first
}

func (a *assignment) afterLast() int {
	last := -1
	for _, pool := range a.pools {
		last = max(last, pool.prior)
	}
	return last + 1
}

// arrange puts the pools in order: named ones as the spec names them, then the unnamed; those of one name as before.
func (a *assignment) arrange() {
	rank := func(name string) int {
		for i, group := range a.Strategy.Groups {
			if group.Name == name {
				return i
			}
		}
		return len(a.Strategy.Groups)
	}
	slices.SortStableFunc(a.pools, func(x, y *pool) int {
		return cmp.Or(cmp.Compare(rank(x.name), rank(y.name)), cmp.Compare(x.prior, y.prior))
	})
}
