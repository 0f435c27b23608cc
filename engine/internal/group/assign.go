package group

import (
	"cmp"
	"slices"

	"github.com/bits-and-blooms/bitset"

	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/internal/filter"
	"github.com/berth-project/berth/engine/program"
)

// SliceLimit is the maximum number of clusters in one slice.
const SliceLimit = 100

// Group is a decision group. Its index is its position in the list.
type Group struct {
	Name string
	// Slices are ordered by number.
	Slices []Slice
}

// Slice is one PlacementDecision of a group.
type Slice struct {
	// Number is the n of "<placement>-decision-<n>", from 1, unique over all groups.
	Number int
	// Clusters is sorted.
	Clusters []string
}

// Size returns how many clusters are in the group.
func (g Group) Size() int {
	size := 0
	for _, slice := range g.Slices {
		size += len(slice.Clusters)
	}
	return size
}

// Input is the input of Assign.
type Input struct {
	Snapshot *fleet.Snapshot
	Strategy program.Strategy
	// Selected is sorted by name.
	Selected []fleet.ID
	// Prior is the decision before, by number.
	Prior []fleet.Slice
	// ScoreReads records which scores the expressions read. It may be nil.
	ScoreReads *filter.ScoreReads
	// Retained are the selected clusters that stay in their groups though they no longer match: in the grace after a start. Nil for none.
	Retained *bitset.BitSet
	// Evaluation evaluates the expressions. Nil means a new evaluation with the cost limit of a decision.
	Evaluation *filter.Evaluation
}

// Assignment is the groups of every selected cluster.
type Assignment struct {
	// Groups always has at least one group with one slice, possibly empty. Named groups come first, in the order of the
	// spec, and all groups of a name together; then the unnamed groups.
	Groups []Group
	// Regrouped are the clusters that had to leave a group above its bound, sorted.
	Regrouped []string
	// Retained are the clusters that are in their groups because of Input.Retained, by name.
	Retained []string
	// Failed names the first expression that failed on every selected cluster it was evaluated on, or at which the
	// expressions exceeded their cost limit. It is empty otherwise. If it is set there are no groups, and no decision is
	// possible.
	Failed string
}

// Assign puts every selected cluster into a group and a slice.
func Assign(in Input) Assignment {
	a := newAssignment(in)
	if a.failed != "" {
		return Assignment{Failed: a.failed}
	}
	if !a.strategyChanged() {
		a.keepPrior()
	}
	if len(a.groups) == 0 {
		a.assignAll()
	} else {
		a.trimOversized()
		a.placeNewcomers()
		a.sortGroups()
	}
	return Assignment{Groups: fillAll(a.groups), Regrouped: a.regrouped, Retained: a.retained}
}

// assigner is the state of one Assign.
type assigner struct {
	in     Input
	length int
	// firstMatch is the first predefined group that matches each selected cluster; absent if no group matches. firstMatch
	// and allowedByName are nil without predefined groups.
	firstMatch map[fleet.ID]int
	// allowedByName has, by group name, the selected clusters that may stay in a group of that name. A predefined group
	// of the name matches them, or its expressions are too costly on them. Newcomers are not admitted by it.
	allowedByName map[string]*bitset.BitSet
	failed        string
	// newcomers are the selected clusters that have no group yet, by name.
	newcomers []fleet.ID
	// regrouped are the newcomers that had to leave a group above its bound, sorted.
	regrouped []string
	// retained is Assignment.Retained.
	retained []string
	groups   []*partialGroup
}

// partialGroup is an unfinished group: its slices with the clusters that stay, and the clusters that have no slice yet.
type partialGroup struct {
	name string
	// index orders the partial groups of one name.
	index    int
	slices   []Slice
	unplaced []string
}

func (p *partialGroup) size() int { return Group{Slices: p.slices}.Size() + len(p.unplaced) }

func newAssignment(in Input) *assigner {
	a := &assigner{
		in:        in,
		length:    in.Strategy.GroupSize(len(in.Selected)),
		newcomers: in.Selected,
	}
	if len(in.Strategy.Groups) == 0 {
		return a
	}
	a.firstMatch, a.allowedByName = map[fleet.ID]int{}, map[string]*bitset.BitSet{}
	selected := &bitset.BitSet{}
	for _, id := range in.Selected {
		selected.Set(id)
	}
	a.matchGroups(selected)
	return a
}

// matchGroups finds the clusters that each predefined group matches. The expressions of a group run on every selected
// cluster, including clusters that an earlier group claims: such a cluster may be in the later group, and stay there.
func (a *assigner) matchGroups(selected *bitset.BitSet) {
	evaluation, reads := a.in.Evaluation, cmp.Or(a.in.ScoreReads, &filter.ScoreReads{})
	if evaluation == nil {
		evaluation = new(filter.NewEvaluation(a.in.Snapshot))
	}
	for i, group := range a.in.Strategy.Groups {
		matching := selected.Clone()
		fell := evaluation.Filter(group.Predicate, matching, reads)
		a.failed = cmp.Or(a.failed, fell.FailsEverywhere("decisionGroups", i))
		if evaluation.Exceeded() {
			return
		}
		for id := range matching.EachSet() {
			if _, taken := a.firstMatch[id]; !taken {
				a.firstMatch[id] = i
			}
		}
		for id := range fell.TooCostly() {
			matching.Set(id)
		}
		if same := a.allowedByName[group.Name]; same != nil {
			matching.InPlaceUnion(same)
		}
		a.allowedByName[group.Name] = matching
	}
}

// assignAll assigns every cluster anew. Each predefined group takes the clusters that it matches and no earlier group
// took. Then come the unclaimed clusters. Each part is divided into groups of the strategy's length. Groups of one name
// are adjacent, as in keepPrior, because the decisions do not show which of two entries of the spec a group comes from.
func (a *assigner) assignAll() {
	for claim, ids := range a.selectedByGroup() {
		name := ""
		if claim < len(a.in.Strategy.Groups) {
			name = a.in.Strategy.Groups[claim].Name
		}
		if len(ids) == 0 {
			continue
		}
		for chunk := range slices.Chunk(a.names(ids), a.length) {
			a.groups = append(a.groups, &partialGroup{name: name, index: len(a.groups), unplaced: chunk})
		}
	}
	a.sortGroups()
	if len(a.groups) == 0 {
		a.groups = []*partialGroup{{}}
	}
}

// selectedByGroup returns the clusters that each predefined group claims, and last the clusters without a group.
func (a *assigner) selectedByGroup() [][]fleet.ID {
	unclaimed := len(a.in.Strategy.Groups)
	out := make([][]fleet.ID, unclaimed+1)
	if len(a.firstMatch) == 0 {
		out[unclaimed] = a.in.Selected
		return out
	}
	for _, id := range a.in.Selected {
		claim, claimed := a.firstMatch[id]
		if !claimed {
			claim = unclaimed
		}
		out[claim] = append(out[claim], id)
	}
	return out
}

// names returns the names of clusters, in their order.
func (a *assigner) names(of []fleet.ID) []string {
	out := make([]string, 0, len(of))
	for _, id := range of {
		out = append(out, a.in.Snapshot.Name(id))
	}
	return out
}

// fillAll puts every cluster without a slice into one: a slice of its group with room, lowest number first, or a new
// slice with the lowest free number.
func fillAll(pools []*partialGroup) []Group {
	used := map[int]bool{}
	for _, pool := range pools {
		for _, slice := range pool.slices {
			used[slice.Number] = true
		}
	}
	next := 1
	free := func() int {
		for used[next] {
			next++
		}
		used[next] = true
		return next
	}
	out := make([]Group, 0, len(pools))
	for _, pool := range pools {
		out = append(out, pool.fillSlices(free))
	}
	return out
}

func (p *partialGroup) fillSlices(free func() int) Group {
	loose := p.unplaced
	slices.Sort(loose)
	for i := range p.slices {
		room := min(SliceLimit-len(p.slices[i].Clusters), len(loose))
		p.slices[i].Clusters = append(p.slices[i].Clusters, loose[:room]...)
		slices.Sort(p.slices[i].Clusters)
		loose = loose[room:]
	}
	for chunk := range slices.Chunk(loose, SliceLimit) {
		p.slices = append(p.slices, Slice{Number: free(), Clusters: chunk})
	}
	if len(p.slices) == 0 {
		p.slices = []Slice{{Number: free()}}
	}
	slices.SortFunc(p.slices, func(a, b Slice) int { return cmp.Compare(a.Number, b.Number) })
	return Group{Name: p.name, Slices: p.slices}
}
