package enginetest

import "slices"

// domainCounter counts picked clusters by domain.
type domainCounter struct {
	*view

	// children has the domains in each domain, count the chosen clusters in each.
	children map[string]map[string]bool
	count    map[string]int
	chosen   map[string]bool
	// before has the clusters that each domain had: a hard constraint takes none of them away without a replacement.
	before map[string]int
}

// counter counts some clusters in the domains of the candidates.
func (v *view) counter(chosen map[string]bool) *domainCounter {
	t := &domainCounter{
		view: v, children: map[string]map[string]bool{}, count: map[string]int{}, chosen: map[string]bool{},
		before: map[string]int{},
	}
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
	for name := range v.selected {
		if !v.eligible(name) && !chosen[name] {
			continue
		}
		for _, domain := range v.paths[name] {
			t.before[domain]++
		}
	}
	return t
}

func (d *domainCounter) take(name string) {
	d.chosen[name] = true
	for _, domain := range d.paths[name] {
		d.count[domain]++
	}
}

// skew returns by how much the i-th domain of a path exceeds the emptiest domain beside it.
func (d *domainCounter) skew(path []string, i int) int {
	least := d.count[path[i+1]]
	for sibling := range d.children[path[i]] {
		least = min(least, d.count[sibling])
	}
	return d.count[path[i+1]] - least
}

// takenBy returns the first chosen cluster by name with the cluster's value of a term; empty if no chosen cluster has it.
func (d *domainCounter) takenBy(term topology, name string) string {
	first := ""
	mine, _ := term.value(d.w.Clusters[name])
	for other := range d.chosen {
		if theirs, has := term.value(d.w.Clusters[other]); has && theirs == mine && (first == "" || other < first) {
			first = other
		}
	}
	return first
}

// allowed reports whether a cluster may join the chosen ones.
func (d *domainCounter) allowed(name string) bool {
	if !d.eligible(name) {
		return false
	}
	for _, term := range d.antiAffinity {
		if d.takenBy(term, name) != "" {
			return false
		}
	}
	path := d.paths[name]
	for i, constraint := range d.spread {
		domain := path[i+1]
		if constraint.hard && d.excess(path, i) > 0 && d.count[domain] >= d.before[domain] {
			return false
		}
	}
	return true
}

// excess returns by how much one more cluster in the i-th domain of a path exceeds the constraint.
func (d *domainCounter) excess(path []string, i int) int {
	return max(0, d.skew(path, i)+1-d.spread[i].skew)
}

// rankBeside returns the rank of a cluster beside the chosen ones: the lower list is better.
func (d *domainCounter) rankBeside(name string) []int {
	rank, path := d.rank(name), d.paths[name]
	var hard, soft []int
	for i, constraint := range d.spread {
		if constraint.hard {
			hard = append(hard, d.excess(path, i))
		} else {
			soft = append(soft, d.excess(path, i))
		}
	}
	out := slices.Concat(hard, rank[:2], soft) // of the rank, the tier and the penalty
	spread := 0
	for i, constraint := range d.spread {
		share := 100 - 200*min(d.skew(path, i), constraint.skew)/constraint.skew
		spread += share << (len(d.spread) - 1 - i)
	}
	if len(d.spread) > 0 {
		spread /= 1<<len(d.spread) - 1
	}
	return append(out, rank[2]-d.weight["Spread"]*spread, rank[3])
}

// pick starts with the forced clusters, whatever the constraints, and adds the best of the others one by one.
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

// wants reports whether more clusters are wanted.
func (r *run) wants(chosen int) bool {
	return r.spec.NumberOfClusters == nil || chosen < int(*r.spec.NumberOfClusters)
}

// choose picks the clusters for a view. Where terms cross, the choice must not be smaller than what is selected and may stand
// together.
func (v *view) choose() map[string]bool {
	picked := v.chooseAnew()
	if len(v.antiAffinity) == 0 || len(v.antiAffinity)+len(v.spread) < 2 {
		return picked
	}
	if kept := v.pick(nil, both(v.in, v.selected)); len(kept) > len(picked) {
		return v.pick(kept, v.in)
	}
	return picked
}

// chooseAnew picks the clusters for a view. Clusters that must wait are added beside those that stay without them, and beside
// newcomers for which a cluster was removed, or would be next.
func (v *view) chooseAnew() map[string]bool {
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

// stabilize chooses again, each time as the next run would, until the choice repeats. If choices alternate, it takes the one
// whose names come first.
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
