package fleet

import "strings"

// Division is how the values of a label or claim divide the clusters of a snapshot into parts.
type Division struct {
	// parts are by ID.
	parts []int32
	count int
}

// Division divides the clusters by a label or claim. It looks at values, of which there are few, and at no cluster.
func (s *Snapshot) Division(source Source, key string) Division {
	out := Division{parts: make([]int32, s.size)}
	prefix := string(TermPair(source, key, ""))
	s.terms.Ascend(Term(prefix), func(term Term, holding *posting) bool {
		if !strings.HasPrefix(string(term), prefix) {
			return false
		}
		out.count++
		for id := range holding.Each() {
			out.parts[id] = int32(out.count) //nolint:gosec // bounded by the number of clusters
		}
		return true
	})
	return out
}

// Part returns the number of the part that a cluster is in, from 1; 0 where it lacks the label or claim.
func (d Division) Part(id ID) int { return int(d.parts[id]) }

// Count returns how many parts there are, the clusters that are in none included.
func (d Division) Count() int { return d.count + 1 }
