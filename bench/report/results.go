package report

import (
	"encoding/json"
	"fmt"

	"github.com/berth-project/berth/bench"
)

// Results are the figures of runs, by the name of the run: what tables and plots in documents are made from.
type Results map[string][]bench.Figure

// ReadResults reads results as Results.JSON writes them. No data at all are no results.
func ReadResults(data []byte) (Results, error) {
	out := Results{}
	if len(data) == 0 {
		return out, nil
	}
	if err := json.Unmarshal(data, &out); err != nil {
		return nil, fmt.Errorf("reading results: %w", err)
	}
	return out, nil
}

// JSON writes results, the runs in the order of their names.
func (r Results) JSON() ([]byte, error) {
	out, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing results: %w", err)
	}
	return append(out, '\n'), nil
}

// value returns a figure of a run. Ok is false where it was not measured.
func (r Results) value(run, figure string) (value float64, ok bool) {
	for _, measured := range r[run] {
		if measured.Name == figure {
			return measured.Value, true
		}
	}
	return 0, false
}

// pair returns the two values that a ratio was made from.
func (r Results) pair(run, figure string) (value, beside float64, ok bool) {
	for _, measured := range r[run] {
		if measured.Name != figure {
			continue
		}
		var unit, other string
		if _, err := fmt.Sscanf(measured.Detail, "%g %s / %g %s", &value, &unit, &beside, &other); err == nil && unit == other {
			return value, beside, true
		}
	}
	return 0, 0, false
}
