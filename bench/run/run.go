// Package run measures hubs, with one file per run. All measurements of a hub of one size are one run, with a file per step, because
// storing a large fleet twice takes longer than the measurements.
//
// It owns the hubs that it measures, from their start to their end. Package bound compares the figures with their bounds. The
// invariant: two compared figures were measured alternately, in rounds, so that other load of the machine affects both.
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

// Run is one measurement.
type Run struct {
	// Name is the name of the run in tables, in rangespec.yaml, and on the command line.
	Name string
	// About describes the measurement in one line.
	About string
	// Measure starts the hubs, measures, and stops them.
	Measure func(context.Context, Options) ([]bench.Figure, error)
}

// minSize and maxSize limit the sizes of runs. In a smaller fleet a taint moves no decision. The names of clusters have five
// digits.
const minSize, maxSize = 100, 100_000

// Options configures a run.
type Options struct {
	// Bin is the folder with the binaries berth and berth-hub.
	Bin string
	// Progress receives progress messages.
	Progress io.Writer
	// Soak is how long the run soak lasts.
	Soak time.Duration
}

func (o Options) logf(format string, args ...any) { fmt.Fprintf(o.Progress, format+"\n", args...) }

// Defaults returns the runs without -only, in the order of the table.
func Defaults() []Run {
	out := []Run{webhookRun(), costlyRun(), agentsRun(), agentRun(), consoleRun(), browserRun()}
	for _, size := range [][2]int{{1_000, 1_000}, {5_000, 1_000}, {1_000, 10_000}, {10_000, 10_000}} {
		out = append(out, sizeRun(size[0], size[1]))
	}
	out = append(out, worksRun(1000, 10), addOnsRun(addOnClusters), profilesRun(), scoresRun(scoreClusters))
	return append(out, engineRuns()...)
}

// Available returns every run with a name, including those that Defaults omits because they take too long.
func Available() []Run { return append(Defaults(), soakRun()) }

// Find returns the run of a name: an available run, or the run of any size, such as 300x200 clusters and
// placements, works-200x5 clusters and sets, or scores-500 and addons-500 clusters.
func Find(name string) (Run, bool) {
	known := Available()
	if at := slices.IndexFunc(known, func(r Run) bool { return r.Name == name }); at >= 0 {
		return known[at], true
	}
	for prefix, sized := range map[string]func(clusters int) Run{scoresPrefix: scoresRun, addOnsPrefix: addOnsRun} {
		if size, is := strings.CutPrefix(name, prefix); is {
			clusters, err := strconv.Atoi(size)
			return sized(clusters), err == nil && clusters >= minSize && clusters <= maxSize
		}
	}
	size, isWorks := strings.CutPrefix(name, worksPrefix)
	left, right, _ := strings.Cut(size, "x")
	clusters, clustersErr := strconv.Atoi(left)
	placements, placementsErr := strconv.Atoi(right)
	if isWorks && clustersErr == nil && placementsErr == nil && clusters >= minSize && placements >= 1 && clusters*placements <= maxSize {
		return worksRun(clusters, placements), true
	}
	if isWorks || clustersErr != nil || placementsErr != nil || min(clusters, placements) < minSize || max(clusters, placements) > maxSize {
		return Run{}, false
	}
	return sizeRun(clusters, placements), true
}
