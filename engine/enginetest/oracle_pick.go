package enginetest

import "slices"

// domainCounter counts clusters in domains while they are picked.
type domainCounter struct {
	*view

	// children are the domains in each domain, count is how many clusters are chosen in each.
	children map[string]map[string]bool
	count    map[string]int
	chosen   map[string]bool
}

// counter counts some clusters in the domains of those that may be chosen.
func (v *view) counter(chosen map[string]bool) *domainCounter {
	t := &domainCounter{view: v, children: map[string]map[string]bool{}, count: map[string]int{}, chosen: map[string]bool{}}
	for name := range v.in {
		if !v.eligible(name) {
			continue
		}
		for i, domain := range v.paths[name][1:] {
			parent := v.paths[name][i]
			if t.children[parent] == nil {
				t.children[parent] = map[string]bool{}
			}
			t.children[parent][domain] = true
		}
	}
	for name := range chosen {
		t.take(name)
	}
	return t
}

func (t *domainCounter) take(name string) {
	t.chosen[name] = true
	for _, domain := range t.paths[name] {
		t.count[domain]++
	}
}

// skew returns by how much the i-th domain of a path exceeds the emptiest beside it, itself included.
func (t *domainCounter) skew(path []string, i int) int {
	least := t.count[path[i+1]]
	for sibling := range t.children[path[i]] {
		least = min(least, t.count[sibling])
	}
	return t.count[path[i+1]] - least
}

// takenBy returns the first by name of the chosen that have the cluster's value for a term; empty where none has.
func (t *domainCounter) takenBy(term topology, name string) string {
	first := ""
	mine, _ := term.value(t.w.Clusters[name])
	for other := range t.chosen {
		if theirs, has := term.value(t.w.Clusters[other]); has && theirs == mine && (first == "" || other < first) {
			first = other
		}
	}
	return first
}

// allowed says whether a cluster may join the chosen.
func (t *domainCounter) allowed(name string) bool {
	if !t.eligible(name) {
		return false
	}
	for _, term := range t.antiAffinity {
		if t.takenBy(term, name) != "" {
			return false
		}
	}
	for i, constraint := range t.spread {
		if constraint.hard && t.skew(t.paths[name], i)+1 > constraint.skew {
			return false
		}
	}
	return true
}

// rankBeside is where a cluster stands beside the chosen: the list that is less is better.
func (t *domainCounter) rankBeside(name string) []int {
	rank, path := t.rank(name), t.paths[name]
	out := rank[:2:2] // tier and demotion
	for i, constraint := range t.spread {
		if !constraint.hard {
			out = append(out, max(0, t.skew(path, i)+1-constraint.skew))
		}
	}
	spread := 0
	for i, constraint := range t.spread {
		share := 100 - 200*min(t.skew(path, i), constraint.skew)/constraint.skew
		spread += share << (len(t.spread) - 1 - i)
	}
	if len(t.spread) > 0 {
		spread /= 1<<len(t.spread) - 1
	}
	return append(out, rank[2]-t.weight["Spread"]*spread, rank[3])
}

// pick takes some clusters as chosen, whatever stands against it, and adds the best of others one by one.
func (v *view) pick(forced, from map[string]bool) map[string]bool {
	t := v.counter(forced)
	order := names(from)
	for v.wants(len(t.chosen)) {
		best, merit := "", []int(nil)
		for _, name := range order {
			if t.chosen[name] || !t.allowed(name) {
				continue
			}
			if mine := t.rankBeside(name); best == "" || slices.Compare(mine, merit) < 0 {
				best, merit = name, mine
			}
		}
		if best == "" {
			break
		}
		t.take(best)
	}
	return t.chosen
}

// wants says whether more clusters than these are to be chosen.
func (r *run) wants(chosen int) bool {
	return r.spec.NumberOfClusters == nil || chosen < int(*r.spec.NumberOfClusters)
}

// choose picks the clusters for a view. Where some must wait, they are let in only beside those who would stay without
// them, and beside those for whom somebody has to go, or would go next.
func (v *view) choose() map[string]bool {
	waits := v.unstable(v.memory.sameSpec, v.memory.waiting)
	picked := v.pick(nil, minus(v.in, waits))
	if len(waits) == 0 {
		return picked
	}
	firm := both(picked, v.selected)
	var come []string
	leave := 0
	for _, name := range names(v.in) {
		if v.eligible(name) && v.selected[name] && !picked[name] {
			leave++
		}
		if picked[name] && !v.selected[name] {
			come = append(come, name)
		}
	}
	slices.SortFunc(come, func(a, b string) int {
		if v.precedes(a, b) {
			return -1
		}
		return 1
	})
	stay := names(both(picked, v.selected))
	for i, name := range come {
		if i < leave || slices.ContainsFunc(stay, func(stays string) bool { return v.precedes(name, stays) }) {
			firm[name] = true
		}
	}
	return v.pick(firm, v.in)
}

// stabilize chooses again, each time as the run after would, until the choice confirms itself. Choices that lead to each
// other in a circle are all the same; the one whose names come first is taken.
func (r *run) stabilize(first *view) map[string]bool {
	const rounds = 16
	made := []map[string]bool{first.choose()}
	for len(made) < rounds {
		next := r.view(made[len(made)-1]).choose()
		for i, before := range made {
			if slices.Equal(names(before), names(next)) {
				return slices.MinFunc(made[i:], func(a, b map[string]bool) int { return slices.Compare(names(a), names(b)) })
			}
		}
		made = append(made, next)
	}
	return made[rounds-1]
}

func minus(a, b map[string]bool) map[string]bool {
	out := map[string]bool{}
	for name := range a {
		if !b[name] {
			out[name] = true
		}
	}
	return out
}

func both(a, b map[string]bool) map[string]bool { return minus(a, minus(a, b)) }
