package telemetry

import (
	"cmp"
	"maps"
	"slices"
	"sync"
)

const (
	// maxNamespaces bounds the namespaces with series of their own.
	maxNamespaces = 1000
	// OtherNamespaces is the label value for all other namespaces. No namespace can have this name.
	OtherNamespaces = "_other"
)

// NamespaceCounts counts by namespace and key. The zero value counts nothing. A namespace without counts takes no memory.
type NamespaceCounts[K comparable] struct {
	mu     sync.Mutex
	counts map[string]map[K]int // every count is other than 0
}

// Add changes the count of a key in a namespace.
func (n *NamespaceCounts[K]) Add(namespace string, key K, delta int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.counts == nil {
		n.counts = map[string]map[K]int{}
	}
	of, ok := n.counts[namespace]
	if !ok {
		of = map[K]int{}
		n.counts[namespace] = of
	}
	if of[key] += delta; of[key] == 0 {
		delete(of, key)
	}
	if len(of) == 0 {
		delete(n.counts, namespace)
	}
}

// Shown returns the counts by label value: the 1,000 namespaces with the highest counts, ties by name, and the sum of the others as
// OtherNamespaces.
func (n *NamespaceCounts[K]) Shown() map[string]map[K]int {
	n.mu.Lock()
	defer n.mu.Unlock()
	names := slices.Collect(maps.Keys(n.counts))
	if len(names) > maxNamespaces {
		slices.SortFunc(names, func(a, b string) int {
			return cmp.Or(cmp.Compare(total(n.counts[b]), total(n.counts[a])), cmp.Compare(a, b))
		})
	}
	out := make(map[string]map[K]int, min(len(names), maxNamespaces+1))
	for at, name := range names {
		label := name
		if at >= maxNamespaces {
			label = OtherNamespaces
		}
		if out[label] == nil {
			out[label] = map[K]int{}
		}
		for key, count := range n.counts[name] {
			out[label][key] += count
		}
	}
	return out
}

func total[K comparable](counts map[K]int) int {
	out := 0
	for _, count := range counts {
		out += count
	}
	return out
}
