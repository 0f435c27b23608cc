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

// namespaceCollector counts the placements with a problem condition by namespace. A namespace without such placements has no
// series.
type namespaceCollector struct {
	mu     sync.Mutex
	counts map[string]problems
}

// problems counts the placements of a namespace by condition. Every count is above 0.
type problems map[conditionReason]int

func newNamespaceCollector(set *Set) *namespaceCollector {
	labels := append([]Label{{
		Name: "namespace", Any: "the 1,000 namespaces with the most such placements; `" + OtherNamespaces + "` is the sum of the others",
	}}, conditionLabels(problemReasons())...)
	out := &namespaceCollector{counts: map[string]problems{}}
	set.Scraped("berth_namespace_placements",
		"Placements with a problem, by namespace, type and reason of the condition: not satisfied, misconfigured, held, or ranked by expired scores. "+
			"A namespace without problems has no series.", out.collect, labels...)
	return out
}

// add changes the count of a problem condition in a namespace. It ignores other conditions.
func (n *namespaceCollector) add(namespace string, r conditionReason, delta int) {
	if !slices.Contains(problemReasons(), r) {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	of, ok := n.counts[namespace]
	if !ok {
		of = problems{}
		n.counts[namespace] = of
	}
	if of[r] += delta; of[r] == 0 {
		delete(of, r)
	}
	if len(of) == 0 {
		delete(n.counts, namespace)
	}
}

// collect emits the counts.
func (n *namespaceCollector) collect(emit Emit) {
	for namespace, of := range n.shown() {
		for r, count := range of {
			emit(float64(count), namespace, r.condition, r.reason)
		}
	}
}

// shown returns the counts by label value: the namespaces with the most placements, ties by name, and the sum of the others.
func (n *namespaceCollector) shown() map[string]problems {
	n.mu.Lock()
	defer n.mu.Unlock()
	names := slices.Collect(maps.Keys(n.counts))
	if len(names) > maxNamespaces {
		slices.SortFunc(names, func(a, b string) int {
			return cmp.Or(cmp.Compare(n.counts[b].total(), n.counts[a].total()), cmp.Compare(a, b))
		})
	}
	out := make(map[string]problems, min(len(names), maxNamespaces+1))
	for at, name := range names {
		label := name
		if at >= maxNamespaces {
			label = OtherNamespaces
		}
		if out[label] == nil {
			out[label] = problems{}
		}
		for r, count := range n.counts[name] {
			out[label][r] += count
		}
	}
	return out
}

func (p problems) total() int {
	out := 0
	for _, count := range p {
		out += count
	}
	return out
}
