// Package bound compares figures with their bounds. The evidence for each bound stands beside it.
//
// It owns rangespec.yaml and its rules, and measures nothing. The invariant: a bound without a measured figure is broken, so
// that the benchmark fails when a figure is no longer measured.
package bound

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/berth-project/berth/bench"
)

// rounding is how far a written bound may be from its mean and margin: they are written in two or three digits.
const rounding = 0.02

var errBound = errors.New("not a bound")

// Bound is the largest or smallest value of a figure. Exactly one of both is set.
type Bound struct {
	Figure string   `json:"figure"`
	Max    *float64 `json:"max,omitempty"`
	Min    *float64 `json:"min,omitempty"`
	// Runs is how often the figure was measured, Mean what came out on average, Spread the standard deviation.
	Runs   int     `json:"runs"`
	Mean   float64 `json:"mean"`
	Spread float64 `json:"spread"`
	// Margin is how much room there is between the mean and the bound, as a share of the mean's size.
	Margin float64 `json:"margin"`
}

// BoundsByRun contains the bounds of every run, by the name of the run.
type BoundsByRun map[string][]Bound

// Read parses the bounds and checks that every bound follows from its evidence.
func Read(data []byte) (BoundsByRun, error) {
	var out BoundsByRun
	if err := yaml.UnmarshalStrict(data, &out); err != nil {
		return nil, fmt.Errorf("reading bounds: %w", err)
	}
	for _, run := range slices.Sorted(maps.Keys(out)) {
		known := map[string]bool{}
		for _, b := range out[run] {
			if err := b.check(); err != nil {
				return nil, fmt.Errorf("reading the bound of %q in %q: %w", b.Figure, run, err)
			}
			if known[b.Figure] {
				return nil, fmt.Errorf("reading the bound of %q in %q: %w: there is another", b.Figure, run, errBound)
			}
			known[b.Figure] = true
		}
	}
	return out, nil
}

func (b Bound) check() error {
	if (b.Max == nil) == (b.Min == nil) {
		return fmt.Errorf("%w: give one of max and min", errBound)
	}
	if b.Runs < 1 || b.Spread < 0 || b.Margin < 0 {
		return fmt.Errorf("%w: it needs at least one run, and a spread and a margin that are not negative", errBound)
	}
	room := math.Abs(b.Mean) * b.Margin
	limit, follows := b.Max, b.Mean+room
	if limit == nil {
		limit, follows = b.Min, b.Mean-room
	}
	if math.Abs(*limit-follows) > rounding*math.Abs(follows) {
		return fmt.Errorf("%w: %v does not follow from the mean %v and the margin %v, which give %.3g", errBound, *limit, b.Mean, b.Margin,
			follows)
	}
	return nil
}

// violation returns why a value breaks the bound, or "".
func (b Bound) violation(value float64) string {
	switch {
	case math.IsNaN(value):
		return "no number"
	case b.Max != nil && value > *b.Max:
		return "too high"
	case b.Min != nil && value < *b.Min:
		return "too low"
	default:
		return ""
	}
}

// Result is a figure beside its bound.
type Result struct {
	Run    string
	Figure bench.Figure
	// Bound is nil for a figure without a bound.
	Bound *Bound
	// Violation is why the bound is broken, or "".
	Violation string
}

// Check compares all figures of a run with its bounds. A bound without a figure is broken and comes last.
func (b BoundsByRun) Check(run string, figures []bench.Figure) []Result {
	out := make([]Result, 0, len(figures))
	missing := slices.Clone(b[run])
	for _, figure := range figures {
		verdict := Result{Run: run, Figure: figure}
		if at := slices.IndexFunc(missing, func(b Bound) bool { return b.Figure == figure.Name }); at >= 0 {
			found := missing[at]
			missing = slices.Delete(missing, at, at+1)
			verdict.Bound, verdict.Violation = &found, found.violation(figure.Value)
		}
		out = append(out, verdict)
	}
	for _, left := range missing {
		out = append(out, Result{Run: run, Figure: bench.Figure{Name: left.Figure, Value: math.NaN()}, Bound: &left, Violation: "not measured"})
	}
	return out
}
