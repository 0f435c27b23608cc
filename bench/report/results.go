package report

import (
	"encoding/json"
	"fmt"

	"github.com/berth-project/berth/bench"
)

// Results are the figures of runs, by the name of the run. The tables of the documentation contain them.
type Results map[string][]bench.Figure

// ReadResults reads results as Results.JSON writes them. Empty data is an empty result.
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
