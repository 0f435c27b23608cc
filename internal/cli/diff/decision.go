package diff

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/berth-project/berth/internal/cli/change"
	"github.com/berth-project/berth/internal/cli/command"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/kube/phrase"
	"github.com/berth-project/berth/internal/source/file"
)

var errHiddenClusters = errors.New("the diff would be wrong, since you may not see clusters that are selected")

// diffPrinter writes what moves in one of the forms.
type diffPrinter = func(w io.Writer, of *change.Report, on printer.Screen) error

// decisionDiff simulates a change of what placements decide from.
func (o *options) decisionDiff(ctx context.Context, proposed *change.Proposal, now time.Time) (*change.Report, error) {
	bundle, err := o.load(ctx)
	if err != nil {
		return nil, err
	}
	if o.Offline() && len(bundle.Placements)+len(proposed.Applied.Placements) == 0 {
		return nil, command.ErrNoPlacement
	}
	if o.Restricted {
		if err := checkVisible(bundle); err != nil {
			return nil, err
		}
	}
	progress := printer.NewProgress(o.Streams.ErrOut, o.Clock)
	defer progress.Done()
	base := change.NewSimulation(bundle, now, progress)
	o.applyBrake(base, bundle)
	base.Stabilize(base.Order)
	if o.replace {
		return o.replacement(base, proposed)
	}
	steps, err := o.steps(ctx, proposed.Namespace)
	if err != nil {
		return nil, err
	}
	before := base
	if len(steps) > 1 {
		before = base.Fork()
	}
	next := base.Clone()
	touched, err := next.ApplyChange(proposed)
	if err != nil {
		return nil, err
	}
	o.applyBrake(next, bundle)
	next.Stabilize(touched)
	out := change.Compare(base, next)
	out.WithoutEffect, out.Partial = next.WithoutEffect(proposed.Applied.Placements), o.Restricted
	if len(steps) > 1 {
		out.Sequence, err = before.Sequence(steps, next)
	}
	return out, err
}

// checkVisible returns an error if placements have selected clusters that the caller may not see: the diff would leave them out.
func checkVisible(bundle *file.Bundle) error {
	visible := sets.New[string]()
	for _, cluster := range bundle.Clusters {
		visible.Insert(cluster.Name)
	}
	all, hidden := sets.New[string](), sets.New[string]()
	for _, slices := range bundle.Decisions {
		for _, slice := range slices {
			for _, decided := range slice.Status.Decisions {
				all.Insert(decided.ClusterName)
				if !visible.Has(decided.ClusterName) {
					hidden.Insert(decided.ClusterName)
				}
			}
		}
	}
	if hidden.Len() == 0 {
		return nil
	}
	return fmt.Errorf("%w: %d of %s, such as %s; ask for a role that gives the right to see their set, or let an administrator run it",
		errHiddenClusters, hidden.Len(), phrase.Count(all.Len(), "cluster"), sets.List(hidden)[0])
}

// applyBrake gives a course the brake of the manager, unless --brake is off. Of a part of a hub, the brake of the whole hub is left out.
func (o *options) applyBrake(course *change.Simulation, bundle *file.Bundle) {
	if o.brake == brakeOff {
		return
	}
	course.Brake(bundle.Sets)
	if o.Restricted {
		course.BrakeOfPart()
	}
}

// replacement simulates that what is applied is deleted first.
func (o *options) replacement(base *change.Simulation, proposed *change.Proposal) (*change.Report, error) {
	next := base.Fork()
	away, touched, err := next.Replace(proposed)
	if err != nil {
		return nil, err
	}
	o.applyBrake(next, o.base)
	next.Stabilize(touched)
	out := change.Compare(base, next)
	out.Away, out.WithoutEffect, out.Partial = away, next.WithoutEffect(proposed.Applied.Placements), o.Restricted
	return out, nil
}

// steps returns the files of the change one by one; none where standard input is among them.
func (o *options) steps(ctx context.Context, namespace string) ([]change.Step, error) {
	if slices.Contains(o.changes, "-") {
		return nil, nil
	}
	rules, err := file.NewRules()
	if err != nil {
		return nil, err
	}
	loader := file.Loader{Recursive: o.Recursive, Namespace: namespace, Validation: o.validate.Level, Rules: rules}
	names, err := loader.Expand(o.changes)
	switch {
	case err != nil:
		return nil, err
	case len(names) < 2:
		return nil, nil
	case len(names) > change.MaxSteps:
		printer.Printf(o.Streams.ErrOut, "note: the order of %d files is not checked; at most %d are\n", len(names), change.MaxSteps)
		return nil, nil
	}
	var out []change.Step
	for _, name := range names {
		bundle, err := loader.Load(ctx, []string{name})
		if err != nil {
			return nil, err
		}
		out = append(out, change.Step{Name: name, Applied: bundle})
	}
	return out, nil
}
