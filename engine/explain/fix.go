package explain

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/verdict"
)

const (
	// maxSteps is how many steps a fix may have, maxRuns how many runs the search for one may take.
	maxSteps = 6
	maxRuns  = 400
)

// search looks for a fix of one cluster: it makes steps, runs, and asks the verdict of that run for the next ones, those
// ways first that are shortest. So what it finds first is the shortest of what it can find.
type search struct {
	Case

	id   fleet.ID
	runs int
}

// Fix returns the fewest changes that were found to make a cluster selected which is not. The cluster exists.
func (c Case) Fix(cluster fleet.ID) Fix {
	s := &search{Case: c, id: cluster}
	result := s.try(nil)
	switch verdictOf := result.Trace.Unranked(cluster); {
	case verdictOf.Code.In():
		return Fix{None: "it is selected"}
	case verdictOf.Code == verdict.Terminating:
		return Fix{None: "it is being deleted"}
	case verdictOf.Code == verdict.Undecided || !result.Decided:
		return Fix{None: "the placement is misconfigured: " + result.Misconfigured.Message}
	}
	steps := s.find()
	if steps == nil {
		return Fix{None: unfixed(result.Trace.Unranked(cluster).Code)}
	}
	w := wording{namespace: c.Placement.Namespace, spread: c.Placement.Spec.SpreadPolicy.SpreadConstraints}
	for i := range steps {
		steps[i] = steps[i].worded(w)
	}
	return Fix{Steps: steps}
}

// unfixed says why no fix was found for a cluster with a verdict.
func unfixed(code verdict.Code) string {
	if code == verdict.OutsideSets {
		return "there is no ManagedClusterSet that it could be in"
	}
	return fmt.Sprintf("no change of at most %d parts was found that selects it", maxSteps)
}

// find returns the steps of a fix; nil where none was found.
func (s *search) find() []Step {
	open := [][]Step{nil}
	for len(open) > 0 && s.runs < maxRuns {
		steps := open[0]
		open = open[1:]
		result := s.try(steps)
		if s.selects(result) {
			return s.least(steps)
		}
		for _, way := range s.ways(result, steps) {
			if longer := slices.Concat(steps, way); len(longer) <= maxSteps {
				open = append(open, longer)
			}
		}
		slices.SortStableFunc(open, func(a, b []Step) int { return len(a) - len(b) })
	}
	return nil
}

func (s *search) try(steps []Step) *engine.Result {
	s.runs++
	return s.run(s.id, steps)
}

func (s *search) selects(result *engine.Result) bool {
	return result.Decided && result.Trace.Unranked(s.id).Code.In()
}

func (s *search) works(steps []Step) bool { return s.selects(s.try(steps)) }

// least returns the smallest part of steps that selects the cluster, and of that the smallest numbers.
func (s *search) least(steps []Step) []Step {
	parts := make([]int, 0, 1<<len(steps))
	for part := 1; part < 1<<len(steps); part++ {
		parts = append(parts, part)
	}
	slices.SortStableFunc(parts, func(a, b int) int { return bits.OnesCount(uint(a)) - bits.OnesCount(uint(b)) })
	for _, part := range parts {
		chosen := pick(steps, part)
		if len(chosen) < len(steps) && !s.works(chosen) {
			continue
		}
		return s.lowered(chosen)
	}
	return steps
}

func pick(steps []Step, part int) []Step {
	var out []Step
	for i, step := range steps {
		if part&(1<<i) != 0 {
			out = append(out, step)
		}
	}
	return out
}

// lowered returns steps with each number as low as it can be while the others stay.
func (s *search) lowered(steps []Step) []Step {
	for i, step := range steps {
		if !step.counts() {
			continue
		}
		steps[i].Number = s.lowest(1, step.Number, func(number int32) []Step {
			with := slices.Clone(steps)
			with[i].Number = number
			return with
		})
	}
	return steps
}

// lowest returns the least number from low to high that works. That high does is known.
func (s *search) lowest(low, high int32, with func(number int32) []Step) int32 {
	for low < high {
		middle := low + (high-low)/2
		if s.works(with(middle)) {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return high
}

// counted returns the way of one step with the least number, from low to high, that selects the cluster after some steps; or
// with the highest, to go on from, where not even that does. A guess that is right saves most of the runs.
func (s *search) counted(steps []Step, step Step, low, guess, high int32) []Step {
	with := func(number int32) []Step {
		step.Number = number
		return append(slices.Clone(steps), step)
	}
	guess = min(max(guess, low), high)
	switch {
	case s.works(with(guess)):
		high = guess
		if guess > low && !s.works(with(guess-1)) {
			low = guess
		}
	case guess == high || !s.works(with(high)):
		low = high
	default:
		low = guess + 1
	}
	step.Number = s.lowest(low, high, with)
	return []Step{step}
}
