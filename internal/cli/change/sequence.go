package change

import (
	"cmp"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/kube/phrase"
	"github.com/berth-project/berth/internal/source/file"
)

const (
	// MaxSteps bounds the files whose order is checked.
	MaxSteps = 100
	// maxPermuted bounds the files that are tried in every order. Of more files a few orders are tried.
	maxPermuted = 4
)

// Step is the part of a change that is in one file.
type Step struct {
	Name    string
	Applied *file.Bundle
}

// Emptied is a placement that has clusters before and after a change, and none in between.
type Emptied struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// After is the file after which it has none.
	After string `json:"after"`
	// Clusters is how many it has before.
	Clusters int `json:"clusters"`
}

// Sequence is what happens where the files of a change are applied one after the other, with more than the grace of the hub between them.
type Sequence struct {
	Emptied []Emptied `json:"emptied"`
	// Order is an order of the files that empties no placement; absent if none was found.
	Order []string `json:"order,omitempty"`
}

// Sequence applies the parts of a change one after the other to a course that has settled. After is the course with the whole change. It
// returns nil if no placement is empty in between.
func (s *Simulation) Sequence(steps []Step, after *Simulation) (*Sequence, error) {
	emptied, err := s.emptiedBy(steps, after)
	if err != nil || len(emptied) == 0 {
		return nil, err
	}
	out := &Sequence{Emptied: emptied}
	for order := range orders(steps) {
		again, err := s.emptiedBy(order, after)
		if err != nil {
			return nil, err
		}
		if len(again) == 0 {
			for _, step := range order {
				out.Order = append(out.Order, step.Name)
			}
			break
		}
	}
	return out, nil
}

// emptiedBy returns the placements that are empty after some of the steps.
func (s *Simulation) emptiedBy(steps []Step, after *Simulation) ([]Emptied, error) {
	var out []Emptied
	seen := map[fleet.Key]bool{}
	course := s.Fork()
	for _, step := range steps[:len(steps)-1] {
		touched, err := course.ApplyChange(&Proposal{Applied: step.Applied})
		if err != nil {
			return nil, fmt.Errorf("applying %s: %w", step.Name, err)
		}
		course.Stabilize(touched)
		for _, key := range touched {
			before := s.selected(key)
			if !seen[key] && before > 0 && after.selected(key) > 0 && course.selected(key) == 0 {
				seen[key] = true
				out = append(out, Emptied{key.Namespace, key.Name, step.Name, before})
			}
		}
	}
	return out, nil
}

// selected counts the clusters of a placement.
func (s *Simulation) selected(key fleet.Key) int { return len(s.groupByCluster(key)) }

// orders returns other orders of the steps: all of them where they are few, else what others read before what reads it.
func orders(steps []Step) iter.Seq[[]Step] {
	return func(yield func([]Step) bool) {
		if len(steps) <= maxPermuted {
			permute(slices.Clone(steps), 0, yield)
			return
		}
		for _, rank := range []func(Step) int{clustersLast, placementsLast} {
			if !yield(slices.SortedStableFunc(slices.Values(steps), func(a, b Step) int { return cmp.Compare(rank(a), rank(b)) })) {
				return
			}
		}
	}
}

// permute yields every order of the steps from an index on. It returns false once yield does.
func permute(steps []Step, from int, yield func([]Step) bool) bool {
	if from == len(steps) {
		return yield(slices.Clone(steps))
	}
	for i := from; i < len(steps); i++ {
		steps[from], steps[i] = steps[i], steps[from]
		more := permute(steps, from+1, yield)
		steps[from], steps[i] = steps[i], steps[from]
		if !more {
			return false
		}
	}
	return true
}

// clustersLast ranks sets, bindings, placements, and then clusters.
func clustersLast(s Step) int {
	return firstOf(len(s.Applied.Sets), len(s.Applied.Bindings), len(s.Applied.Placements), len(s.Applied.Clusters))
}

// placementsLast ranks sets, bindings, clusters, and then placements.
func placementsLast(s Step) int {
	return firstOf(len(s.Applied.Sets), len(s.Applied.Bindings), len(s.Applied.Clusters), len(s.Applied.Placements))
}

// firstOf returns the index of the first count above 0; the number of counts without one.
func firstOf(counts ...int) int {
	if at := slices.IndexFunc(counts, func(count int) bool { return count > 0 }); at >= 0 {
		return at
	}
	return len(counts)
}

// maxPrinted bounds the emptied placements that are printed. The rest is counted.
const maxPrinted = 10

// Print writes which placements are empty in between, and an order that avoids it.
func (s *Sequence) Print(w io.Writer) {
	printer.Printf(w, "\nApplied file by file, %s in between, once the grace of the hub is over (15 s by default):\n",
		phrase.Count(len(s.Emptied), "placement")+map[bool]string{true: " is empty", false: " are empty"}[len(s.Emptied) == 1])
	for _, e := range s.Emptied[:min(len(s.Emptied), maxPrinted)] {
		printer.Printf(w, "  %s/%s after %s: it has %s before\n", e.Namespace, e.Name, e.After, phrase.Count(e.Clusters, "cluster"))
	}
	if more := len(s.Emptied) - maxPrinted; more > 0 {
		printer.Printf(w, "  and %d more\n", more)
	}
	if s.Order == nil {
		printer.Printf(w, "No order of these files was found that avoids it: apply all of them within the grace.\n")
		return
	}
	printer.Printf(w, "This order avoids it: %s\n", strings.Join(s.Order, ", "))
}
