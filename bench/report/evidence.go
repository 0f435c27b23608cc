package report

import (
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/berth-project/berth/bench"
)

// Evidence is what several runs said about one figure.
type Evidence struct {
	Runs                    int
	Mean, Spread, Low, High float64
}

// Of returns the evidence in some values, of which there must be one at least. Spread is the standard deviation.
func Of(values []float64) Evidence {
	out := Evidence{Runs: len(values), Low: slices.Min(values), High: slices.Max(values)}
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

// Evidences writes what several measurements of one run say, figure by figure, in the form of rangespec.yaml. Margin and
// bound are left to whoever reads it: they are judgements.
func Evidences(out io.Writer, run string, measured [][]bench.Figure) error {
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
		e := Of(values[name])
		_, err := fmt.Fprintf(out, "  - {figure: %q, runs: %d, mean: %.3g, spread: %.2g} # from %.3g to %.3g\n", name, e.Runs, e.Mean, e.Spread, e.Low, e.High)
		if err != nil {
			return fmt.Errorf("printing evidence: %w", err)
		}
	}
	return nil
}
