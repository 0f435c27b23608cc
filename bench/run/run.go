// Package run holds what is measured, one file per run. All that happens to a hub of one size is one run, a story, with a file
// per step: storing a large fleet twice takes longer than measuring it.
//
// It owns the hubs that it measures, from their start to their end. It refuses to judge: package bound does. The
// invariant: what two figures are compared by was measured by turns, each round a moment after the other, so that
// whatever else the machine does meets both.
package run

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/berth-project/berth/bench"
)

// Run is one thing to measure.
type Run struct {
	// Name is what the run is called in tables, in rangespec.yaml, and on the command line.
	Name string
	// About says in a line what it measures.
	About string
	// Measure starts what it needs, measures, and stops it.
	Measure func(context.Context, Options) ([]bench.Figure, error)
}

// Stories of any size are told between these: a taint moves nobody where there is nobody else, and names end at five digits.
const minSize, maxSize = 100, 100_000

// Options is what a run is given.
type Options struct {
	// Bin is the folder with the binaries berth and berth-hub.
	Bin string
	// Progress is told what goes on.
	Progress io.Writer
	// Soak is how long the run soak lasts.
	Soak time.Duration
}

func (s Options) logf(format string, args ...any) { fmt.Fprintf(s.Progress, format+"\n", args...) }

// Defaults returns the runs that are measured unless others are asked for, in the order of the table.
func Defaults() []Run {
	out := []Run{webhookRun(), costlyRun()}
	for _, size := range [][2]int{{1_000, 1_000}, {5_000, 1_000}, {1_000, 10_000}, {10_000, 10_000}} {
		out = append(out, sizeRun(size[0], size[1]))
	}
	return append(out, engineRuns()...)
}

// Available returns every run that has a name of its own, those included that take too long to be measured unasked.
func Available() []Run { return append(Defaults(), soakRun()) }

// Find returns the run of a name: a known one, or the story of any size, such as 300x200 clusters and placements.
func Find(name string) (Run, bool) {
	known := Available()
	if at := slices.IndexFunc(known, func(r Run) bool { return r.Name == name }); at >= 0 {
		return known[at], true
	}
	left, right, _ := strings.Cut(name, "x")
	clusters, clustersErr := strconv.Atoi(left)
	placements, placementsErr := strconv.Atoi(right)
	if clustersErr != nil || placementsErr != nil || min(clusters, placements) < minSize || max(clusters, placements) > maxSize {
		return Run{}, false
	}
	return sizeRun(clusters, placements), true
}
