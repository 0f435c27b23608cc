package explain

import (
	"fmt"
	"math/bits"
	"slices"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/verdict"
)

const (
	// maxSteps is how many steps a fix may have.
	maxSteps = 6
	// maxTries is how many trials a search makes until it has found a fix. Most of them run with the cluster alone.
	maxTries = 400
	// A search runs with the whole fleet for maxLooks clusters in total, and leastRuns times in any case. So a fix in a large
	// fleet takes hardly longer than a fix in a small one.
	maxLooks, leastRuns = 320_000, 32
)

// search finds a fix of one cluster. It runs with some steps, and adds the steps that the verdict of the run suggests, those
// with the fewest steps first. So the first fix that it finds has the fewest steps.
type search struct {
	Case

	id fleet.ID
	// alone is the case with only this cluster, in which a run is fast and shows whether a filter rejects it; nil if the cluster
	// was selected before.
	alone       *Case
	runs, tries int
}

// Fix returns the smallest set of changes that was found to make a cluster selected. The cluster exists.
func (c Case) Fix(cluster fleet.ID) Fix {
	s := &search{Case: c, id: cluster}
	s.Env = c.Env.ForTrials()
	result := s.try(nil)
	code := s.verdict(result).Code
	switch {
	case code.IsSelected():
		return Fix{None: "it is selected"}
	case code == verdict.Terminating:
		return Fix{None: "it is being deleted"}
	case code == verdict.Withdrawing:
		return Fix{None: "its set, a binding, a label or a claim is being withdrawn: put it back, or wait for the end of the grace"}
	case code == verdict.Undecided || !result.Decided:
		return Fix{None: result.Problem()}
	}
	s.prepare()
	out, t := Fix{Steps: s.find()}, c.newTrial(s.name())
	for i := range out.Steps {
		out.Steps[i].Text = t.take(out.Steps[i])
	}
	switch {
	case len(out.Steps) > 0:
	case code == verdict.OutsideSets:
		out.None = "there is no visible ManagedClusterSet that it could be in"
	default:
		out.None = fmt.Sprintf("no change of at most %d parts was found that selects it", maxSteps)
	}
	return out
}

// prepare makes runs cheap. The groups do not affect which clusters are selected, unless an expression in them fails
// everywhere. Neither does the order in which decisions are listed.
func (s *search) prepare() {
	s.Placement = s.Placement.DeepCopy()
	spec := &s.Placement.Spec
	spec.SortBy, spec.ScoreRateLimit = "", ""
	if !slices.ContainsFunc(spec.DecisionStrategy.GroupStrategy.DecisionGroups, func(group clusterv1beta1.DecisionGroup) bool {
		return len(group.ClusterSelector.CelSelector.CelExpressions) > 0
	}) {
		spec.DecisionStrategy = clusterv1beta1.DecisionStrategy{}
	}
	if !s.Snapshot.Incumbents(fleet.Key{Namespace: s.Placement.Namespace, Name: s.Placement.Name}).Has(s.id) {
		s.alone = new(s.Case)
		s.alone.Snapshot = s.Snapshot.OnlyCluster(s.id)
	}
}

// find returns the steps of a fix; nil if none was found.
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
		for _, next := range s.next(result) {
			repeats := slices.ContainsFunc(next, func(step Step) bool { return slices.ContainsFunc(steps, step.same) })
			if longer := slices.Concat(steps, next); len(longer) <= maxSteps && !repeats {
				open = append(open, longer)
			}
		}
		slices.SortStableFunc(open, func(a, b []Step) int { return len(a) - len(b) })
	}
	return nil
}

// try runs with steps: with the cluster alone first, and with the whole fleet only if no filter rejects it there. A filter
// looks at one cluster at a time, so it rejects the same clusters in both.
func (s *search) try(steps []Step) *engine.Result {
	s.tries++
	if s.alone != nil {
		result := s.alone.run(s.name(), steps)
		switch code := s.verdict(result).Code; code { //nolint:exhaustive // the others depend on the fleet
		case verdict.OutsideSets, verdict.Mismatch, verdict.OutsideTiers, verdict.Tainted, verdict.Expired:
			if result.Decided {
				return result
			}
		}
	}
	s.runs++
	return s.run(s.name(), steps)
}

func (s *search) name() string { return s.Snapshot.Name(s.id) }

// verdict returns the verdict of a run. The cluster may have another ID in it.
func (s *search) verdict(result *engine.Result) verdict.Verdict {
	id, _ := result.Trace.Snapshot.ID(s.name())
	return result.Trace.VerdictWithoutRank(id)
}

func (s *search) selects(result *engine.Result) bool {
	return result.Decided && s.verdict(result).Code.IsSelected()
}

// least returns the smallest part of steps that selects the cluster, with the lowest numbers.
func (s *search) least(steps []Step) []Step {
	parts := make([]int, 0, 1<<len(steps))
	for part := 1; part < 1<<len(steps); part++ {
		parts = append(parts, part)
	}
	slices.SortStableFunc(parts, func(a, b int) int { return bits.OnesCount(uint(a)) - bits.OnesCount(uint(b)) })
	for _, part := range parts {
		var chosen []Step
		for i, step := range steps {
			if part&(1<<i) != 0 {
				chosen = append(chosen, step)
			}
		}
		if len(chosen) == len(steps) || s.selects(s.try(chosen)) {
			return s.lower(chosen)
		}
	}
	return steps
}

// lower reduces each number of a fix to the lowest number that works while the other steps stay.
func (s *search) lower(steps []Step) []Step {
	for i := range steps {
		step := &steps[i]
		high := step.Number
		for low := step.low; low < high; {
			step.Number = low + (high-low)/2
			if s.selects(s.try(steps)) {
				high = step.Number
			} else {
				low = step.Number + 1
			}
		}
		step.Number = high
	}
	return steps
}
