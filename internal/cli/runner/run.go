package runner

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/internal/cli/offline"
	"github.com/berth-project/berth/internal/cli/reader"
	"github.com/berth-project/berth/internal/cli/scenario"
	"github.com/berth-project/berth/internal/kube/phrase"
	"github.com/berth-project/berth/internal/source/file"
)

// Runner plays scenarios one after the other.
type Runner struct {
	Rules      *file.Rules
	Validation file.Validation
	Warnings   io.Writer
}

// Run plays a scenario. The error is a file.FaultsError where the scenario is wrong.
func (r *Runner) Run(ctx context.Context, name string, s *scenario.Scenario) (ScenarioReport, error) {
	out := ScenarioReport{File: name, Name: cmp.Or(s.Name, strings.TrimSuffix(filepath.Base(name), filepath.Ext(name)))}
	bundle, err := r.base(ctx, name, s)
	if err != nil {
		return out, err
	}
	before := map[fleet.Key][]string{}
	for _, placement := range bundle.Placements {
		key := file.KeyOf(placement)
		before[key] = offline.Decision{Slices: bundle.Decisions[key]}.Clusters()
	}
	t := offline.NewTimeline(bundle, s.StartTime())
	for i := range s.Steps {
		if _, err := t.Advance(ctx, s.StepTime(i)); err != nil {
			return out, file.FaultsError{s.Fault(fmt.Sprintf("steps[%d]", i), err.Error())}
		}
		if err := r.applyStep(ctx, t, s, i); err != nil {
			return out, err
		}
		step, err := checkStep(t, s, i, before)
		if err != nil {
			return out, err
		}
		out.Steps = append(out.Steps, step)
		for _, d := range t.Decided {
			before[d.Key] = d.Clusters()
		}
	}
	if len(before) == 0 {
		return out, file.FaultsError{s.Fault("base", "has no Placement, and no step adds one, so there is nothing to decide")}
	}
	return out, nil
}

// base returns what there is before the first step.
func (r *Runner) base(ctx context.Context, name string, s *scenario.Scenario) (*file.Bundle, error) {
	var files []string
	for _, path := range s.Base.Files {
		if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(name), path)
		}
		files = append(files, path)
	}
	loader := file.Loader{Rules: r.Rules, Validation: r.Validation, Namespace: s.Namespace, Parsed: s.Inputs("base.objects", s.Base.Objects)}
	bundle, err := loader.Load(ctx, files)
	if err != nil {
		return nil, err
	}
	reader.PrintWarnings(r.Warnings, bundle)
	if drawn := s.Base.Fleet; drawn != nil {
		if err := (&reader.GeneratedFleet{Clusters: drawn.Clusters, Seed: drawn.Seed}).Add(bundle); err != nil {
			return nil, file.FaultsError{s.Fault("base.fleet", err.Error())}
		}
	}
	return bundle, nil
}

// checkStep compares what is expected of a step with what came.
func checkStep(t *offline.Timeline, s *scenario.Scenario, at int, before map[fleet.Key][]string) (stepReport, error) {
	step := &s.Steps[at]
	out := stepReport{Name: cmp.Or(step.Name, fmt.Sprintf("step %d", at+1)), At: "+" + step.Offset().String()}
	for i := range step.Expect {
		want := &step.Expect[i]
		path := fmt.Sprintf("steps[%d].expect[%d]", at, i)
		key := keyIn(want.Placement, s.Namespace)
		found := slices.IndexFunc(t.Decided, func(d offline.Decision) bool { return d.Key == key })
		if found < 0 {
			return out, file.FaultsError{s.Fault(path+".placement", fmt.Sprintf("there is no placement %s; there are %s", key, placementNames(t)))}
		}
		for _, difference := range want.Check(outcomeOf(t.Decided[found], before[key])) {
			out.Failures = append(out.Failures, failure{
				Placement: key.String(), Line: s.Place(path + "." + difference.Field).Line,
				Field: difference.Field, Want: difference.Want, Got: difference.Got, Notes: difference.Notes,
			})
		}
	}
	return out, nil
}

// keyIn reads "name" or "namespace/name".
func keyIn(text, namespace string) fleet.Key {
	if before, after, found := strings.Cut(text, "/"); found {
		return fleet.Key{Namespace: before, Name: after}
	}
	return fleet.Key{Namespace: cmp.Or(namespace, "default"), Name: text}
}

func placementNames(t *offline.Timeline) string {
	var all []string
	for _, d := range t.Decided {
		all = append(all, d.Key.String())
	}
	return cmp.Or(phrase.Join(all, reader.MaxNamed), "none")
}

// outcomeOf returns what a scenario looks at of a decision.
func outcomeOf(d offline.Decision, before []string) scenario.Outcome {
	out := scenario.Outcome{Clusters: d.Clusters(), Before: before, Conditions: d.Placement.Status.Conditions}
	for _, group := range d.Groups() {
		out.Groups = append(out.Groups, scenario.Group{Name: group.Name, Clusters: group.Clusters})
	}
	out.Verdict = func(cluster string) (code, why string, exists bool) {
		v, exists := d.Verdict(cluster)
		return v.Code.String(), explain.Why(v), exists
	}
	return out
}
