package fleet

import "strings"

// Domains is the division of the clusters of a snapshot by the values of a label or claim.
type Domains struct {
	// domains are by ID.
	domains []int32
	count   int
}

// Domains divides the clusters by a label or claim. It iterates over the values, which are few, and not over all
// clusters.
func (s *Snapshot) Domains(source Source, key string) Domains {
	out := Domains{domains: make([]int32, s.idLimit)}
	prefix := string(TermKeyValue(source, key, ""))
	s.terms.Ascend(Term(prefix), func(term Term, holding *posting) bool {
		if !strings.HasPrefix(string(term), prefix) {
			return false
		}
		out.count++
		for id := range holding.All() {
			out.domains[id] = int32(out.count) //nolint:gosec // bounded by the number of clusters
		}
		return true
	})
	return out
}

// Of returns the number of the domain that a cluster is in, from 1; 0 if it lacks the label or claim.
func (d Domains) Of(id ID) int { return int(d.domains[id]) }

// Count returns how many domains exist. The clusters without the label or claim count as one.
func (d Domains) Count() int { return d.count + 1 }
