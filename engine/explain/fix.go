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
	// maxSteps is how many steps a fix may have.
	maxSteps = 6
	// maxTries is how many trials a search may make until it has found a fix. Most of them come to an end with the cluster
	// alone.
	maxTries = 400
	// A search may look at so many clusters in runs with the whole fleet, and make leastRuns of them in any case: a fix in
	// a large fleet takes hardly longer than one in a small one.
	maxLooks, leastRuns = 320_000, 32
)

// search looks for a fix of one cluster: it makes steps, runs, and asks the verdict of that run for the next ones, those
// ways first that are shortest. So what it finds first is the shortest of what it can find.
type search struct {
	Case

	id fleet.ID
	// alone is the case with this cluster only, which soon tells whether a filter drops it; nil where that tells nothing.
	alone       *Case
	runs, tries int
	// guesses are the numbers that counted steps are likely to need.
	guesses map[Step]guess
}

// guess is a number that a counted step is likely to need, and the lowest that can help.
type guess struct{ low, likely int32 }

// Fix returns the fewest changes that were found to make a cluster selected which is not. The cluster exists.
func (c Case) Fix(cluster fleet.ID) Fix {
	s := &search{Case: c, id: cluster, guesses: map[Step]guess{}}
	s.Env = c.Env.Remembering()
	result := s.try(nil)
	switch verdictOf := result.Trace.VerdictWithoutRank(cluster); {
	case verdictOf.Code.IsSelected():
		return Fix{None: "it is selected"}
	case verdictOf.Code == verdict.Terminating:
		return Fix{None: "it is being deleted"}
	case verdictOf.Code == verdict.Undecided || !result.Decided:
		return Fix{None: "the placement is misconfigured: " + result.Misconfigured.Message}
	}
	s.prepare()
	steps := s.find()
	if steps == nil {
		return Fix{None: notFixable(result.Trace.VerdictWithoutRank(cluster).Code)}
	}
	w := wording{namespace: c.Placement.Namespace, spread: c.Placement.Spec.SpreadPolicy.SpreadConstraints}
	for i := range steps {
		steps[i] = steps[i].worded(w)
	}
	return Fix{Steps: steps}
}

// prepare makes runs cheap, once a full one has shown that the placement is decided.
func (s *search) prepare() {
	s.Placement = plainly(s.Placement)
	key := fleet.Key{Namespace: s.Placement.Namespace, Name: s.Placement.Name}
	if s.Snapshot.Incumbents(key).Has(s.id) {
		return
	}
	s.alone = new(s.Case)
	s.alone.Snapshot = s.Snapshot.OnlyCluster(s.id)
}

// notFixable says why no fix was found for a cluster with a verdict.
func notFixable(code verdict.Code) string {
	if code == verdict.OutsideSets {
		return "there is no ManagedClusterSet to be seen that it could be in"
	}
	return fmt.Sprintf("no change of at most %d parts was found that selects it", maxSteps)
}

// find returns the steps of a fix; nil where none was found.
func (s *search) find() []Step {
	open := [][]Step{nil}
	maxRuns := max(leastRuns, maxLooks/max(1, int(s.Snapshot.IDLimit())))
	for len(open) > 0 && s.runs < maxRuns && s.tries < maxTries {
		steps := open[0]
		open = open[1:]
		result := s.try(steps)
		if s.selects(result) {
			return s.least(steps)
		}
		for _, way := range s.ways(result) {
			if longer := slices.Concat(steps, way); len(longer) <= maxSteps && !slices.ContainsFunc(way, repeats(steps)) {
				open = append(open, longer)
			}
		}
		slices.SortStableFunc(open, func(a, b []Step) int { return len(a) - len(b) })
	}
	return nil
}

// try runs with steps: with the cluster alone first, and with all only where no filter drops it there. Filters look at one
// cluster at a time, so whom they drop alone they drop among others.
func (s *search) try(steps []Step) *engine.Result {
	s.tries++
	if s.alone != nil {
		result := s.alone.run(s.name(), steps)
		if result.Decided && filtered(s.verdict(result).Code) {
			return result
		}
	}
	s.runs++
	return s.run(s.name(), steps)
}

// filtered says whether a verdict is that of a filter, or of the sets.
func filtered(code verdict.Code) bool {
	switch code {
	case verdict.OutsideSets, verdict.Mismatch, verdict.OutsideTiers, verdict.Tainted, verdict.Expired:
		return true
	default:
		return false
	}
}

func (s *search) name() string { return s.Snapshot.Name(s.id) }

// verdict returns the verdict of a run, whichever clusters it was with.
func (s *search) verdict(result *engine.Result) verdict.Verdict {
	return result.Trace.VerdictWithoutRank(s.in(result))
}

// in returns the number that the cluster has in a run.
func (s *search) in(result *engine.Result) fleet.ID {
	id, _ := result.Trace.Snapshot.ID(s.name())
	return id
}

func (s *search) selects(result *engine.Result) bool {
	return result.Decided && s.verdict(result).Code.IsSelected()
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

// counted returns the way of one step with the highest number that can help. What is less will do as well, mostly; that is
// looked for once the step is known to be a part of a fix, and a guess that is right saves most of the runs.
func (s *search) counted(step Step, likely guess, high int32) []Step {
	s.guesses[step] = likely
	step.Number = high
	return []Step{step}
}

// lowered returns steps with each number as low as it can be while the others stay.
func (s *search) lowered(steps []Step) []Step {
	for i, step := range steps {
		if !step.counts() {
			continue
		}
		with := func(number int32) []Step {
			out := slices.Clone(steps)
			out[i].Number = number
			return out
		}
		high := step.Number
		step.Number = 0
		steps[i].Number = s.lowest(s.guesses[step], high, with)
	}
	return steps
}

// lowest returns a number up to high that works, and below which the next does not. That high does is known.
func (s *search) lowest(from guess, high int32, with func(number int32) []Step) int32 {
	low, guess := from.low, from.likely
	if guess > low && guess < high {
		switch {
		case !s.works(with(guess)):
			low = guess + 1
		case !s.works(with(guess - 1)):
			return guess
		default:
			high = guess - 1
		}
	}
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
