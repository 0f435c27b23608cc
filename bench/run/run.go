// Package run holds what is measured, one file per run.
//
// It owns the hubs that it measures, from their start to their end. It refuses to judge: package bound does. The
// invariant: what two figures are compared by was measured by turns, each round a moment after the other, so that
// whatever else the machine does meets both.
package run

import (
	"context"
	"fmt"
	"io"

	"github.com/berth-project/berth/bench"
)

// Run is one thing to measure.
type Run struct {
	// Name is what the run is called in tables, in rangespec.yaml, and on the command line.
	Name string
	// About says in a line what it measures.
	About string
	// Measure starts what it needs, measures, and stops it.
	Measure func(context.Context, Setting) ([]bench.Figure, error)
}

// Setting is what a run is given.
type Setting struct {
	// Bin is the folder with the binaries berth and berth-hub.
	Bin string
	// Progress is told what goes on.
	Progress io.Writer
}

func (s Setting) say(format string, args ...any) { fmt.Fprintf(s.Progress, format+"\n", args...) }

// All returns every run, in the order of the table.
func All() []Run { return []Run{webhook(), cold(), idle()} }
