package selection

import "slices"

// profile is what the constraints know of a candidate before they are weighed: by level, by how many clusters the domain that
// it is in exceeds the emptiest beside it. At the level of the parts of the domain that has the bucket it is how many the
// part has, which stays when the emptiest gets one.
type profile [maxConstraints]int32

// bucket holds parts of a domain whose best open candidates have the same profile. That of a leaf holds its candidates.
type bucket struct {
	domain  int
	profile profile
	// best is the position of its best candidate.
	best int
	// members are the numbers of buckets of the parts, a heap by head; none in the bucket of a leaf.
	members []int
	// parent is the number of the bucket above that it is a member of, or outside; place is where in its members.
	parent, index int
}

// buckets are the open candidates of a tree. Each domain has them in buckets by profile, the best of each on top: a leaf has
// one bucket, any other domain one for each profile of its parts. Choices keep the counts even, so there are few profiles
// however many domains there are, and the best of all is on top of one of the few buckets of the root.
//
// A chosen cluster changes the counts of the domains around it, and so the profiles of their buckets alone. Those are taken
// out of the domain above and put back where they belong then.
type buckets struct {
	tree   *tree
	counts *domainCounts
	// compare compares candidates by their position.
	compare func(a, b int) int
	// byNumber is by number; the bucket of a leaf has the number of the leaf.
	byNumber []bucket
	// byDomain has the numbers of the buckets of each domain, in no order.
	byDomain [][]int
	// free are the numbers of buckets that are not used any more.
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
		tree: t, counts: counts, compare: compare, byNumber: make([]bucket, len(t.domains), len(t.domains)+inner), byDomain: make([][]int, len(t.domains)),
	}
}

// fill puts every leaf with open candidates into its bucket, and all buckets into those above. Parts have higher numbers
// than the domain that they are parts of.
func (b *buckets) fill(open []heap) {
	numbers := make([]int, len(open)) // of the leaves, in one piece
	for at := len(b.tree.domains) - 1; at > 0; at-- {
		if len(open[at]) > 0 {
			numbers[at] = at
			b.byDomain[at] = numbers[at : at+1 : at+1]
			b.byNumber[at] = bucket{domain: at, best: open[at][0]}
		}
		b.attach(at)
	}
}

// attach puts the buckets of a domain into those of the domain above that have their profile.
func (b *buckets) attach(at int) {
	d := &b.tree.domains[at]
	leaf := len(d.parts) == 0
	for _, number := range b.byDomain[at] {
		above := b.byNumber[number].profile
		if !leaf {
			above[d.level] -= int32(b.counts.least[at]) //nolint:gosec // bounded by the number of clusters
		}
		above[d.level-1] = int32(b.counts.chosen[at]) //nolint:gosec // as above
		b.insert(b.bucketFor(d.parent, above), number)
	}
}

// detach takes the buckets of a domain out of those of the domain above. Buckets that are left without members are gone.
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

// bucketFor returns the number of the bucket of a domain that has a profile; it is new where none has.
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

// remove takes a bucket out of the one that it is a member of.
func (b *buckets) remove(number int) {
	above, place := &b.byNumber[b.byNumber[number].parent], b.byNumber[number].index
	last := len(above.members) - 1
	above.members[place] = above.members[last]
	above.members = above.members[:last]
	b.byNumber[number].parent = outside
	if place < last {
		b.down(above, place)
		b.up(above, place)
	}
	if last > 0 {
		above.best = b.byNumber[above.members[0]].best
	}
}

// less says whether the head of a member goes before that of another.
func (b *buckets) less(x, y int) bool { return b.compare(b.byNumber[x].best, b.byNumber[y].best) < 0 }

// up moves a member up to its place, and notes the places of those that it passes.
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

// down moves a member down to its place, and notes the places of those that it passes.
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
