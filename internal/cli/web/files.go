package web

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/internal/cli/offline"
	"github.com/berth-project/berth/internal/cli/rollouts"
	"github.com/berth-project/berth/internal/console"
	"github.com/berth-project/berth/internal/console/model"
	"github.com/berth-project/berth/internal/delivery/report"
	"github.com/berth-project/berth/internal/source/completion"
	"github.com/berth-project/berth/internal/source/file"
)

var errNoCluster = errors.New("the last run had no such cluster")

var errNoHistory = errors.New("files have no history: a hub records it")

// Files reads the fleet of files, whose placements it decides once. It implements console.Reader, console.Deliveries,
// console.Members and console.Previewer, and is safe for concurrent use.
type Files struct {
	state   *model.State
	decided map[fleet.Key]offline.Decision
	now     time.Time
	preview *previewer
	never   chan struct{}

	mu        sync.Mutex
	explained map[fleet.Key]*explain.Explanation
}

// NewFiles decides the placements of files at an instant.
func NewFiles(bundle *file.Bundle, now time.Time) *Files {
	f := &Files{
		decided: map[fleet.Key]offline.Decision{}, now: now, never: make(chan struct{}),
		explained: map[fleet.Key]*explain.Explanation{},
	}
	shown := *bundle
	shown.Clusters, shown.Placements = slices.Clone(bundle.Clusters), nil
	shown.Decisions = maps.Clone(bundle.Decisions)
	for _, made := range offline.Decide(bundle, now) {
		f.decided[made.Key] = made
		shown.Placements = append(shown.Placements, made.Placement)
		shown.Decisions[made.Key] = made.Slices
	}
	f.state = model.NewState(&shown, 1, now, "")
	f.preview = newPreviewer(func() (*file.Bundle, uint64, error) { return bundle, 1, nil },
		func() (*model.State, error) { return f.state, nil }, func() time.Time { return now })
	return f
}

// State implements console.Reader.
func (f *Files) State(context.Context) (*model.State, error) { return f.state, nil }

// Changed implements console.Reader. Files are read once.
func (f *Files) Changed() <-chan struct{} { return f.never }

// Explain implements console.Reader.
func (f *Files) Explain(_ context.Context, key fleet.Key, cluster string) (*explain.Explanation, error) {
	made, known := f.decided[key]
	switch {
	case !known:
		return nil, console.ErrNotFound
	case made.Result == nil:
		return nil, fmt.Errorf("the placement is not decided: %s", made.SkipReason)
	}
	all := f.explain(made)
	if cluster == "" {
		return all, nil
	}
	found, ok := all.Find(cluster)
	if !ok {
		return nil, console.ErrNotFound
	}
	one := *all
	one.Clusters = []explain.Cluster{*found}
	if found.Selected {
		return &one, nil
	}
	fix, err := made.Fix(cluster)
	one.Clusters[0].Fix = &fix
	return &one, err
}

// explain returns the explanation of a decision, which it computes once.
func (f *Files) explain(made offline.Decision) *explain.Explanation {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.explained[made.Key] == nil {
		out := explain.Of(made.Result, made.Placement, nil)
		f.explained[made.Key] = &out
	}
	return f.explained[made.Key]
}

// History implements console.Reader.
func (f *Files) History(context.Context, fleet.Key) (*explain.History, error) {
	return nil, errNoHistory
}

// Delivery implements console.Deliveries.
func (f *Files) Delivery(_ context.Context, set fleet.Key) (*report.Report, error) {
	found, err := rollouts.FromBundle(f.state.Bundle, set.Namespace, set.Name)
	if err != nil {
		return nil, console.ErrNotFound
	}
	out, err := rollouts.NewReport(found, f.now)
	return &out, err
}

// Verdict implements console.Reader.
func (f *Files) Verdict(ctx context.Context, key fleet.Key, cluster string) (*explain.Cluster, error) {
	all, err := f.Explain(ctx, key, "")
	if err != nil {
		return nil, err
	}
	return findIn(all, cluster)
}

// findIn returns the verdict on a cluster.
func findIn(all *explain.Explanation, cluster string) (*explain.Cluster, error) {
	found, ok := all.Find(cluster)
	if !ok {
		return nil, errNoCluster
	}
	return found, nil
}

// Member implements console.Members. Files hold the works, and no lease.
func (f *Files) Member(_ context.Context, cluster string) (*console.Member, error) {
	out := &console.Member{LeaseProblem: "Files hold no leases: a hub has them."}
	var works []workv1.ManifestWork
	for _, work := range f.state.Bundle.Works {
		if work.Namespace == cluster {
			works = append(works, *work)
		}
	}
	out.ReportWorks(works, 0, f.now)
	return out, nil
}

// Past implements console.Deliveries. Files hold neither former templates nor events.
func (f *Files) Past(context.Context, fleet.Key) (*model.Past, error) {
	return &model.Past{Problem: "Files hold no former templates and no events: a hub stores them."}, nil
}

// Preview implements console.Previewer.
func (f *Files) Preview(ctx context.Context, change console.Change) (*console.Preview, error) {
	return f.preview.Preview(ctx, change)
}

// Complete implements console.Previewer.
func (f *Files) Complete(ctx context.Context, text string, row, column int) (completion.Result, error) {
	return f.preview.Complete(ctx, text, row, column)
}

// HasWorks reports whether the files have sets of works.
func (f *Files) HasWorks() bool { return len(f.state.Bundle.WorkSets) > 0 }
