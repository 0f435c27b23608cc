package selection

import "slices"

// profile is what the constraints know of a candidate before they are weighed: by level, by how many clusters the domain that
// it is in exceeds the emptiest beside it. At the level of the parts of the domain that has the bucket it is how many the
// part has, which stays when the emptiest gets one.
type profile [mostConstraints]int32

// bucket holds parts of a domain whose best open candidates have the same profile. That of a leaf holds its candidates.
type bucket struct {
	domain  int
	profile profile
	// head is the position of its best candidate.
	head int
	// members are the numbers of buckets of the parts, a heap by head; none in the bucket of a leaf.
	members []int
	// in is the number of the bucket above that it is a member of, or outside; place is where in its members.
	in, place int
}

// buckets are the open candidates of a tree. Each domain has them in buckets by profile, the best of each on top: a leaf has
// one bucket, any other domain one for each profile of its parts. Choices keep the counts even, so there are few profiles
// however many domains there are, and the best of all is on top of one of the few buckets of the root.
//
// A chosen cluster changes the counts of the domains around it, and so the profiles of their buckets alone. Those are taken
// out of the domain above and put back where they belong then.
type buckets struct {
	tree  *tree
	tally *tally
	// compare compares candidates by their position.
	compare func(a, b int) int
	// all is by number; the bucket of a leaf has the number of the leaf.
	all []bucket
	// of has the numbers of the buckets of each domain, in no order.
	of [][]int
	// free are the numbers of buckets that are not used any more.
	free []int
}

func newBuckets(t *tree, counts *tally, compare func(a, b int) int) *buckets {
	inner := 0
	for _, d := range t.domains {
		if len(d.parts) > 0 {
			inner++
		}
	}
	return &buckets{
		tree: t, tally: counts, compare: compare, all: make([]bucket, len(t.domains), len(t.domains)+inner), of: make([][]int, len(t.domains)),
	}
}

// fill puts every leaf with open candidates into its bucket, and all buckets into those above. Parts have higher numbers
// than the domain that they are parts of.
func (b *buckets) fill(open []heap) {
	numbers := make([]int, len(open)) // of the leaves, in one piece
	for at := len(b.tree.domains) - 1; at > 0; at-- {
		if len(open[at]) > 0 {
			numbers[at] = at
			b.of[at] = numbers[at : at+1 : at+1]
			b.all[at] = bucket{domain: at, head: open[at][0]}
		}
		b.attach(at)
	}
}

// attach puts the buckets of a domain into those of the domain above that have their profile.
func (b *buckets) attach(at int) {
	d := &b.tree.domains[at]
	leaf := len(d.parts) == 0
	for _, number := range b.of[at] {
		above := b.all[number].profile
		if !leaf {
			above[d.level] -= int32(b.tally.least[at]) //nolint:gosec // bounded by the number of clusters
		}
		above[d.level-1] = int32(b.tally.counts[at]) //nolint:gosec // as above
		b.insert(b.with(d.parent, above), number)
	}
}

// detach takes the buckets of a domain out of those of the domain above. Buckets that are left without members are gone.
func (b *buckets) detach(at int) {
	for _, number := range b.of[at] {
		above := b.all[number].in
		b.remove(number)
		if len(b.all[above].members) == 0 {
			siblings := b.of[b.all[above].domain]
			i := slices.Index(siblings, above)
			siblings[i] = siblings[len(siblings)-1]
			b.of[b.all[above].domain] = siblings[:len(siblings)-1]
			b.free = append(b.free, above)
		}
	}
}

// with returns the number of the bucket of a domain that has a profile; it is new where none has.
func (b *buckets) with(domain int, profile profile) int {
	for _, number := range b.of[domain] {
		if b.all[number].profile == profile {
			return number
		}
	}
	number := len(b.all)
	if last := len(b.free) - 1; last >= 0 {
		number, b.free = b.free[last], b.free[:last]
	} else {
		b.all = append(b.all, bucket{})
	}
	b.all[number] = bucket{domain: domain, profile: profile, members: b.all[number].members[:0], in: outside}
	b.of[domain] = append(b.of[domain], number)
	return number
}

// insert makes a bucket a member of another one.
func (b *buckets) insert(into, number int) {
	above := &b.all[into]
	above.members = append(above.members, number)
	b.all[number].in = into
	b.rise(above, len(above.members)-1)
	above.head = b.all[above.members[0]].head
}

// remove takes a bucket out of the one that it is a member of.
func (b *buckets) remove(number int) {
	above, place := &b.all[b.all[number].in], b.all[number].place
	last := len(above.members) - 1
	above.members[place] = above.members[last]
	above.members = above.members[:last]
	b.all[number].in = outside
	if place < last {
		b.sink(above, place)
		b.rise(above, place)
	}
	if last > 0 {
		above.head = b.all[above.members[0]].head
	}
}

// ahead says whether the head of a member goes before that of another.
func (b *buckets) ahead(x, y int) bool { return b.compare(b.all[x].head, b.all[y].head) < 0 }

// rise moves a member up to its place, and notes the places of those that it passes.
func (b *buckets) rise(in *bucket, at int) {
	for at > 0 {
		above := (at - 1) / 2
		if !b.ahead(in.members[at], in.members[above]) {
			break
		}
		in.members[at], in.members[above] = in.members[above], in.members[at]
		b.all[in.members[at]].place = at
		at = above
	}
	b.all[in.members[at]].place = at
}

// sink moves a member down to its place, and notes the places of those that it passes.
func (b *buckets) sink(in *bucket, at int) {
	for {
		child := 2*at + 1
		if child >= len(in.members) {
			break
		}
		if right := child + 1; right < len(in.members) && b.ahead(in.members[right], in.members[child]) {
			child = right
		}
		if !b.ahead(in.members[child], in.members[at]) {
			break
		}
		in.members[at], in.members[child] = in.members[child], in.members[at]
		b.all[in.members[at]].place = at
		at = child
	}
	b.all[in.members[at]].place = at
}
