package enginetest

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
)

const limit = 100

// assignment is the group and slice of a cluster; slice 0 means that it has no slice yet.
type assignment struct {
	group groupKey
	slice int
}

// groupKey identifies a group by name and, until the order is final, by index.
type groupKey struct {
	name  string
	index int
}

// groups assigns every chosen cluster to a group, to its previous one if possible. It also returns the clusters that had
// to leave their group.
func (m *membership) groups(chosen map[string]bool) (groups []Group, regrouped []string) {
	strategy := m.spec.DecisionStrategy.GroupStrategy
	assigned := map[string]assignment{}
	if !m.strategyChanged(strategy) {
		assigned = m.keepMembers(chosen)
	}
	if len(assigned) == 0 {
		m.assignAll(assigned, chosen, strategy)
	} else {
		regrouped = removeOverflow(assigned, GroupBound(strategy, len(chosen)))
		m.assignNewcomers(assigned, chosen, strategy)
	}
	return orderGroups(assigned, strategy), regrouped
}

func (r *run) strategyChanged(strategy clusterv1beta1.GroupStrategy) bool {
	for _, slice := range r.prior {
		if slice.strategy != "" && slice.strategy != fingerprint(strategy) {
			return true
		}
	}
	return false
}

// keepMembers assigns clusters to the lowest slice that has them if they still belong to its group. If two slices have the same
// number, the first has it. If a slice is too full, the first clusters by name stay.
func (m *membership) keepMembers(chosen map[string]bool) map[string]assignment {
	assigned := map[string]assignment{}
	taken := map[int]bool{}
	for _, slice := range m.prior {
		if slice.index < 0 {
			continue
		}
		group := groupKey{slice.group, m.position(slice.index)}
		var here []string
		for _, name := range slice.clusters {
			if _, assignedAlready := assigned[name]; assignedAlready || !chosen[name] || !m.belongs(name, slice.group) {
				continue
			}
			assigned[name] = assignment{group: group}
			here = append(here, name)
		}
		if len(here) == 0 || slice.number < 1 || taken[slice.number] {
			continue
		}
		taken[slice.number] = true
		slices.Sort(here)
		for _, name := range here[:min(limit, len(here))] {
			assigned[name] = assignment{group, slice.number}
		}
	}
	return assigned
}

// position counts the lower indexes of slices. It replaces the index, because there may be no higher integer.
func (r *run) position(index int) int {
	below := map[int]bool{}
	for _, slice := range r.prior {
		if slice.index < index {
			below[slice.index] = true
		}
	}
	return len(below)
}

func nameOf(claim int, strategy clusterv1beta1.GroupStrategy) string {
	if claim == len(strategy.DecisionGroups) {
		return ""
	}
	return strategy.DecisionGroups[claim].GroupName
}

// assignAll divides the clusters of each predefined group, then all others, into groups of the length.
func (m *membership) assignAll(assigned map[string]assignment, chosen map[string]bool, strategy clusterv1beta1.GroupStrategy) {
	index := 0
	for claim := 0; claim <= len(strategy.DecisionGroups); claim++ {
		var mine []string
		for _, name := range names(chosen) {
			if m.claim(name) == claim {
				mine = append(mine, name)
			}
		}
		for i, name := range mine {
			if i > 0 && i%length(strategy, len(chosen)) == 0 {
				index++
			}
			assigned[name] = assignment{group: groupKey{nameOf(claim, strategy), index}}
		}
		if len(mine) > 0 {
			index++
		}
	}
}

// removeOverflow removes the last by name from each group above the bound, and returns their names.
func removeOverflow(assigned map[string]assignment, bound int) []string {
	var out []string
	for _, members := range groupsOf(assigned) {
		for i, name := range members {
			if i >= bound {
				delete(assigned, name)
				out = append(out, name)
			}
		}
	}
	slices.Sort(out)
	return out
}

// groupsOf returns the members of each group by name.
func groupsOf(assigned map[string]assignment) map[groupKey][]string {
	out := map[groupKey][]string{}
	for name, at := range assigned {
		out[at.group] = append(out[at.group], name)
	}
	for _, members := range out {
		slices.Sort(members)
	}
	return out
}

// assignNewcomers assigns each newcomer to a group of its name: the last with room, otherwise the first with room, otherwise a
// new one.
func (m *membership) assignNewcomers(assigned map[string]assignment, chosen map[string]bool, strategy clusterv1beta1.GroupStrategy) {
	length := length(strategy, len(chosen))
	for _, name := range names(chosen) {
		if _, assignedAlready := assigned[name]; assignedAlready {
			continue
		}
		wanted := nameOf(m.claim(name), strategy)
		first, last, end := math.MaxInt, -1, -1
		sizes := groupsOf(assigned)
		highest := -1
		for group, members := range sizes {
			end = max(end, group.index)
			if group.name != wanted {
				continue
			}
			highest = max(highest, group.index)
			if len(members) < length {
				first, last = min(first, group.index), max(last, group.index)
			}
		}
		index := end + 1
		switch {
		case last >= 0 && last == highest:
			index = last
		case last >= 0:
			index = first
		}
		assigned[name] = assignment{group: groupKey{wanted, index}}
	}
}

// orderGroups sorts the groups and assigns every cluster to a slice.
func orderGroups(assigned map[string]assignment, strategy clusterv1beta1.GroupStrategy) []Group {
	members := groupsOf(assigned)
	order := make([]groupKey, 0, len(members))
	for group := range members {
		order = append(order, group)
	}
	rank := func(name string) int {
		for i, group := range strategy.DecisionGroups {
			if group.GroupName == name {
				return i
			}
		}
		return len(strategy.DecisionGroups)
	}
	slices.SortFunc(order, func(a, b groupKey) int {
		return cmp.Or(cmp.Compare(rank(a.name), rank(b.name)), cmp.Compare(a.index, b.index))
	})
	used := map[int]bool{}
	for _, at := range assigned {
		used[at.slice] = true
	}
	if len(order) == 0 {
		return []Group{{Slices: []NumberedSlice{{1, []string{}}}}}
	}
	var out []Group
	for _, group := range order {
		out = append(out, Group{group.name, cutSlices(members[group], assigned, used)})
	}
	return out
}

// cutSlices fills the slices of a group, lowest number first, then adds slices with the lowest free numbers.
func cutSlices(members []string, assigned map[string]assignment, used map[int]bool) []NumberedSlice {
	held := map[int][]string{}
	var loose []string
	for _, name := range members {
		if number := assigned[name].slice; number > 0 {
			held[number] = append(held[number], name)
		} else {
			loose = append(loose, name)
		}
	}
	for _, name := range loose {
		number := 0
		for have := range held {
			if len(held[have]) < limit && (number == 0 || have < number) {
				number = have
			}
		}
		for n := 1; number == 0; n++ {
			if !used[n] {
				number, used[n] = n, true
			}
		}
		held[number] = append(held[number], name)
	}
	var out []NumberedSlice
	for number, members := range held {
		slices.Sort(members)
		out = append(out, NumberedSlice{number, members})
	}
	slices.SortFunc(out, func(a, b NumberedSlice) int { return cmp.Compare(a.Number, b.Number) })
	return out
}

// inOrderOfGroups returns the stored slices, group by group.
func (r *run) inOrderOfGroups() []storedSlice {
	out := slices.Clone(r.prior)
	slices.SortStableFunc(out, func(a, b storedSlice) int {
		return cmp.Or(cmp.Compare(a.index, b.index), cmp.Compare(a.group, b.group), cmp.Compare(a.number, b.number))
	})
	return out
}

// keptGroups returns the stored groups with the clusters that stay, each once. Clusters without a valid number, or without room
// in their slice, get a new slice of the same group.
func (r *run) keptGroups(stay map[string]bool) []Group {
	assigned := map[string]assignment{}
	used := map[int]bool{}
	var order []groupKey
	for _, slice := range r.inOrderOfGroups() {
		group := groupKey{slice.group, slice.index}
		var here []string
		for _, name := range slice.clusters {
			if _, assignedAlready := assigned[name]; !assignedAlready && stay[name] {
				assigned[name] = assignment{group: group}
				here = append(here, name)
			}
		}
		if len(here) > 0 && !slices.Contains(order, group) {
			order = append(order, group)
		}
		slices.Sort(here)
		if len(here) == 0 || slice.number < 1 || used[slice.number] {
			continue
		}
		used[slice.number] = true
		for _, name := range here[:min(limit, len(here))] {
			assigned[name] = assignment{group, slice.number}
		}
	}
	var out []Group
	for _, group := range order {
		out = append(out, Group{group.name, cutSlices(groupsOf(assigned)[group], assigned, used)})
	}
	if len(out) == 0 {
		return []Group{{Slices: []NumberedSlice{{1, []string{}}}}}
	}
	return out
}

func percentage(strategy clusterv1beta1.GroupStrategy) bool {
	return strings.HasSuffix(strategy.ClustersPerDecisionGroup.StrVal, "%")
}

// GroupBound is how many clusters a group may have before some must leave. It is the length, or for a percentage one and
// a half times the length and at least one more than the length.
func GroupBound(strategy clusterv1beta1.GroupStrategy, total int) int {
	out := length(strategy, total)
	if !percentage(strategy) {
		return out
	}
	return int(max(math.Floor(1.5*float64(out)), float64(out+1)))
}

// length is the number of clusters of a full group.
func length(strategy clusterv1beta1.GroupStrategy, total int) int {
	of := strategy.ClustersPerDecisionGroup
	out := int(of.IntVal)
	if number, err := strconv.Atoi(strings.TrimSuffix(of.StrVal, "%")); err == nil {
		out = number
		if percentage(strategy) {
			out = int(math.Ceil(float64(number*total) / 100))
		}
	}
	if out <= 0 || out > total {
		return total
	}
	return out
}
