package selection

import "slices"

// profile has, by level, by how many clusters the candidate's domain exceeds the emptiest domain beside it. Candidates with the
// same profile are ranked the same by all constraints. At the level of the parts of the bucket's domain it has the count of the
// part instead, which does not change when the emptiest part gets a cluster.
type profile struct {
	counts [maxConstraints]int32
	// refilled is set by level if the candidate's domain gets no more clusters beyond the skew.
	refilled [maxConstraints]bool
}

// bucket has the parts of a domain whose best remaining candidates have the same profile. The bucket of a leaf has its
// candidates.
type bucket struct {
	domain  int
	profile profile
	// best is the position of its best candidate.
	best int
	// members are the numbers of the parts' buckets, a heap by best; empty in the bucket of a leaf.
	members []int
	// parent is the number of the bucket that has this one as a member, or outside; index is the position in its members.
	parent, index int
}

// buckets has the remaining candidates of a tree. Each domain has its candidates in buckets by profile, the best of each bucket
// first: a leaf has one bucket, any other domain one for each profile of its parts. There are few profiles, because choosing
// keeps the counts even. So the best candidate is the best of the few buckets of the root.
//
// A chosen cluster changes only the profiles of the domains around it. Their buckets are detached and attached again.
type buckets struct {
	tree   *tree
	counts *domainCounts
	// compare compares candidates by position.
	compare func(a, b int) int
	// byNumber has the buckets; the bucket of a leaf has the number of the leaf.
	byNumber []bucket
	// byDomain has the bucket numbers of each domain, unordered.
	byDomain [][]int
	// free has the numbers of unused buckets.
	free []int
}

func newBuckets(t *tree, counts *domainCounts, compare func(a, b int) int) *buckets {
	inner := 0
	for _, d := range t.domains {
		if len(d.parts) > 0 {
			inner++
		}
	}
	return &buckets{
		tree: t, counts: counts, compare: compare, byNumber: make([]bucket, len(t.domains), len(t.domains)+inner),
		byDomain: make([][]int, len(t.domains)),
	}
}

// fill makes the bucket of every leaf with candidates, and attaches all buckets. Parts have higher numbers than their domain.
func (b *buckets) fill(remaining []heap) {
	numbers := make([]int, len(remaining)) // of the leaves, in one piece
	for at := len(b.tree.domains) - 1; at > 0; at-- {
		if len(remaining[at]) > 0 {
			numbers[at] = at
			b.byDomain[at] = numbers[at : at+1 : at+1]
			b.byNumber[at] = bucket{domain: at, best: remaining[at][0]}
		}
		b.attach(at)
	}
}

// attach puts the buckets of a domain into the parent domain's buckets of their profile.
func (b *buckets) attach(at int) {
	d := &b.tree.domains[at]
	leaf := len(d.parts) == 0
	for _, number := range b.byDomain[at] {
		above := b.byNumber[number].profile
		if !leaf {
			above.counts[d.level] -= int32(b.counts.least[at]) //nolint:gosec // bounded by the number of clusters
		}
		above.counts[d.level-1] = int32(b.counts.chosen[at]) //nolint:gosec // as above
		above.refilled[d.level-1] = b.counts.refilled(at)
		b.insert(b.bucketFor(d.parent, above), number)
	}
}

// detach removes the buckets of a domain from those of the parent domain, and frees buckets that are then empty.
func (b *buckets) detach(at int) {
	for _, number := range b.byDomain[at] {
		above := b.byNumber[number].parent
		b.remove(number)
		if len(b.byNumber[above].members) == 0 {
			siblings := b.byDomain[b.byNumber[above].domain]
			i := slices.Index(siblings, above)
			siblings[i] = siblings[len(siblings)-1]
			b.byDomain[b.byNumber[above].domain] = siblings[:len(siblings)-1]
			b.free = append(b.free, above)
		}
	}
}

// bucketFor returns the number of a domain's bucket for a profile, which it creates if necessary.
func (b *buckets) bucketFor(domain int, profile profile) int {
	for _, number := range b.byDomain[domain] {
		if b.byNumber[number].profile == profile {
			return number
		}
	}
	number := len(b.byNumber)
	if last := len(b.free) - 1; last >= 0 {
		number, b.free = b.free[last], b.free[:last]
	} else {
		b.byNumber = append(b.byNumber, bucket{})
	}
	b.byNumber[number] = bucket{domain: domain, profile: profile, members: b.byNumber[number].members[:0], parent: outside}
	b.byDomain[domain] = append(b.byDomain[domain], number)
	return number
}

// insert makes a bucket a member of another one.
func (b *buckets) insert(into, number int) {
	above := &b.byNumber[into]
	above.members = append(above.members, number)
	b.byNumber[number].parent = into
	b.up(above, len(above.members)-1)
	above.best = b.byNumber[above.members[0]].best
}

// remove removes a bucket from its parent.
func (b *buckets) remove(number int) {
	above, index := &b.byNumber[b.byNumber[number].parent], b.byNumber[number].index
	last := len(above.members) - 1
	above.members[index] = above.members[last]
	above.members = above.members[:last]
	b.byNumber[number].parent = outside
	if index < last {
		b.down(above, index)
		b.up(above, index)
	}
	if last > 0 {
		above.best = b.byNumber[above.members[0]].best
	}
}

// less reports whether the best candidate of bucket x precedes the best of bucket y.
func (b *buckets) less(x, y int) bool { return b.compare(b.byNumber[x].best, b.byNumber[y].best) < 0 }

// up moves a member towards the top of the heap.
func (b *buckets) up(in *bucket, at int) {
	for at > 0 {
		above := (at - 1) / 2
		if !b.less(in.members[at], in.members[above]) {
			break
		}
		in.members[at], in.members[above] = in.members[above], in.members[at]
		b.byNumber[in.members[at]].index = at
		at = above
	}
	b.byNumber[in.members[at]].index = at
}

// down moves a member towards the bottom of the heap.
func (b *buckets) down(in *bucket, at int) {
	for {
		child := 2*at + 1
		if child >= len(in.members) {
			break
		}
		if right := child + 1; right < len(in.members) && b.less(in.members[right], in.members[child]) {
			child = right
		}
		if !b.less(in.members[child], in.members[at]) {
			break
		}
		in.members[at], in.members[child] = in.members[child], in.members[at]
		b.byNumber[in.members[at]].index = at
		at = child
	}
	b.byNumber[in.members[at]].index = at
}
