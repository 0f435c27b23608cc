package report

import (
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/berth-project/berth/bench"
)

// Evidence summarizes the values of one figure in several runs.
type Evidence struct {
	Runs                   int
	Mean, Spread, Min, Max float64
}

// Summarize returns the evidence of at least one value. Spread is the standard deviation.
func Summarize(values []float64) Evidence {
	out := Evidence{Runs: len(values), Min: slices.Min(values), Max: slices.Max(values)}
	for _, value := range values {
		out.Mean += value / float64(len(values))
	}
	if len(values) > 1 {
		for _, value := range values {
			out.Spread += (value - out.Mean) * (value - out.Mean) / float64(len(values)-1)
		}
		out.Spread = math.Sqrt(out.Spread)
	}
	return out
}

// WriteEvidence writes the evidence of several measurements of one run, figure by figure, in the form of rangespec.yaml. It
// omits margin and bound, which need judgement.
func WriteEvidence(out io.Writer, run string, measured [][]bench.Figure) error {
	values, order := map[string][]float64{}, []string{}
	for _, figures := range measured {
		for _, figure := range figures {
			if values[figure.Name] == nil {
				order = append(order, figure.Name)
			}
			values[figure.Name] = append(values[figure.Name], figure.Value)
		}
	}
	if _, err := fmt.Fprintf(out, "%s:\n", run); err != nil {
		return fmt.Errorf("printing evidence: %w", err)
	}
	for _, name := range order {
		e := Summarize(values[name])
		_, err := fmt.Fprintf(out, "  - {figure: %q, runs: %d, mean: %.3g, spread: %.2g} # from %.3g to %.3g\n", name, e.Runs, e.Mean, e.Spread,
			e.Min, e.Max)
		if err != nil {
			return fmt.Errorf("printing evidence: %w", err)
		}
	}
	return nil
}
