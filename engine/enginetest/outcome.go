package enginetest

import (
	"encoding/json"
	"fmt"
	"time"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
	"github.com/berth-project/berth/engine/program"
	"github.com/berth-project/berth/engine/verdict"
)

// Outcome is all that a scheduler says of one placement, in the words in which engine and oracle are compared.
type Outcome struct {
	// Decided is false where what was decided before stays.
	Decided bool
	Groups  []Group
	// Regrouped had to leave a group above its bound.
	Regrouped                []string
	Selected, Reluctant      int
	Satisfied, Misconfigured engine.Condition
	LookAgain                time.Time
	// PlanAgain is when scores may be written that are held back.
	PlanAgain time.Time
	// Verdicts is the verdict on every cluster, in words.
	Verdicts map[string]string `json:",omitempty"`
	// Slices and Status are what is stored once the plan is carried out.
	Slices []*clusterv1beta1.PlacementDecision `json:",omitempty"`
	Status *clusterv1beta1.PlacementStatus     `json:",omitempty"`
}

// Group is a decision group of an outcome.
type Group struct {
	Name   string
	Slices []Numbered
}

// Numbered is a slice of an outcome.
type Numbered struct {
	Number   int
	Clusters []string
}

// JSON returns the outcome as bytes: equal outcomes give equal bytes.
func (o Outcome) JSON() string {
	out, err := json.Marshal(o) //nolint:musttag // it is compared, and nobody reads it back
	if err != nil {
		panic(err)
	}
	return string(out)
}

// Core returns the outcome without verdicts and stored objects: what may not change unless the placement is woken.
func (o Outcome) Core() Outcome {
	o.Verdicts, o.Slices, o.Status, o.PlanAgain = nil, nil, nil, time.Time{}
	return o
}

// Clusters returns the names in every slice, group by group.
func (o Outcome) Clusters() []string {
	var out []string
	for _, group := range o.Groups {
		for _, slice := range group.Slices {
			out = append(out, slice.Clusters...)
		}
	}
	return out
}

// Answer runs the engine for one placement: it compiles, then decides or keeps.
func Answer(s *fleet.Snapshot, placement *clusterv1beta1.Placement, env *celenv.Env) *engine.Result {
	compiled, faults := program.Compile(placement, env)
	key := fleet.Key{Namespace: placement.Namespace, Name: placement.Name}
	return engine.Decide(s, key, compiled, faults, plan.ReadLedger(placement))
}

// Said puts a result of the engine into the words of an Outcome, without what is stored.
func Said(result *engine.Result) Outcome {
	out := Outcome{
		Decided: result.Decided, Selected: result.Selected, Reluctant: result.Reluctant,
		Satisfied: result.Satisfied, Misconfigured: result.Misconfigured, LookAgain: result.LookAgain, Verdicts: map[string]string{},
		Regrouped: result.Regrouped,
	}
	for _, group := range result.Groups {
		made := Group{Name: group.Name}
		for _, slice := range group.Slices {
			made.Slices = append(made.Slices, Numbered{slice.Number, append([]string{}, slice.Clusters...)})
		}
		out.Groups = append(out.Groups, made)
	}
	for id, cluster := range result.Trace.Snapshot.Clusters() {
		out.Verdicts[cluster.Name()] = inWords(result.Trace.Verdict(id))
	}
	return out
}

// inWords renders a verdict, with the arguments that depend on the choice.
func inWords(v verdict.Verdict) string {
	out := v.Code.String()
	switch argument := v.Argument.(type) {
	case verdict.Cap:
		out += fmt.Sprintf(" by %s: %q %v", argument.Constraint, argument.Domain, !argument.Lacks)
		if argument.By != "" {
			out += " of " + argument.By
		}
	case verdict.Wait:
		out += until(argument.Until)
	case verdict.Hold:
		out += until(argument.Until)
		if argument.Fell != 0 {
			out += ", else " + argument.Fell.String()
		}
	case verdict.Mismatches, verdict.Taint, verdict.Rank:
	}
	return out
}

// Engine runs the engine for one placement of a world and carries out its plan on a copy of the world.
func Engine(w *World, s *fleet.Snapshot, key fleet.Key, env *celenv.Env) Outcome {
	return After(w, Answer(s, w.Placements[key], env))
}

// After puts a result into words, with what is stored once its plan is carried out on a copy of the world.
func After(w *World, result *engine.Result) Outcome {
	out := Said(result)
	after := w.Copy()
	made := plan.Diff(result, w.Stored(result.Key), w.Now)
	for _, write := range made.Writes {
		after.Apply(write)
	}
	out.PlanAgain = made.LookAgain
	out.Slices = after.SlicesOf(result.Key)
	out.Status = &after.Placements[result.Key].Status
	return out
}
