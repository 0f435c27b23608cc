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

var errNoResults = errors.New("-plots and -redraw need -results, and -redraw needs -plots")

// check says whether the flags about results fit together.
func (o options) check() error {
	if (o.plots != "" || o.redraw) && o.results == "" || o.redraw && o.plots == "" {
		return errNoResults
	}
	return nil
}

// savingResults returns runs whose figures are kept as soon as they are measured.
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

// saveResults replaces the figures of a run in the file of results.
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
		return fmt.Errorf("keeping results: %w", err)
	}
	if err := os.WriteFile(o.results, data, 0o600); err != nil {
		return fmt.Errorf("keeping results: %w", err)
	}
	return nil
}

// loadResults returns the results so far; none where there is no file.
func (o options) loadResults() (report.Results, error) {
	data, err := os.ReadFile(o.results)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("reading results: %w", err)
	}
	return report.ReadResults(data)
}

// draw draws the plots of all results, if that is asked for.
func (o options) draw() error {
	if o.plots == "" {
		return nil
	}
	results, err := o.loadResults()
	if err != nil {
		return err
	}
	pictures, err := report.Plots(results)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(o.plots, 0o750); err != nil {
		return fmt.Errorf("drawing: %w", err)
	}
	for name, picture := range pictures {
		if err := os.WriteFile(filepath.Join(o.plots, name), picture, 0o600); err != nil {
			return fmt.Errorf("drawing: %w", err)
		}
	}
	return nil
}
