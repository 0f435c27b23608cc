package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/berth-project/berth/bench"
	"github.com/berth-project/berth/bench/report"
	"github.com/berth-project/berth/bench/run"
)

// savingResults returns runs that save their figures as soon as they are measured.
func (o options) savingResults(runs []run.Run) []run.Run {
	if o.results == "" {
		return runs
	}
	out := make([]run.Run, 0, len(runs))
	for _, r := range runs {
		next := r
		next.Measure = func(ctx context.Context, s run.Options) ([]bench.Figure, error) {
			figures, err := r.Measure(ctx, s)
			if err != nil {
				return figures, err
			}
			return figures, o.saveResults(r.Name, figures)
		}
		out = append(out, next)
	}
	return out
}

// saveResults replaces the figures of a run in the results file.
func (o options) saveResults(name string, figures []bench.Figure) error {
	results, err := o.loadResults()
	if err != nil {
		return err
	}
	results[name] = figures
	data, err := results.JSON()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(o.results), 0o750); err != nil {
		return fmt.Errorf("saving results: %w", err)
	}
	if err := os.WriteFile(o.results, data, 0o600); err != nil {
		return fmt.Errorf("saving results: %w", err)
	}
	return nil
}

// loadResults returns the stored results, and empty results without a file.
func (o options) loadResults() (report.Results, error) {
	data, err := os.ReadFile(o.results)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("reading results: %w", err)
	}
	return report.ReadResults(data)
}
