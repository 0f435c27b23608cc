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

// Outcome is the result for one placement in the form in which engine and oracle are compared.
type Outcome struct {
	// Decided is false if the previous decisions are kept.
	Decided bool
	Groups  []Group
	// Regrouped are the clusters that had to leave a group above its bound.
	Regrouped []string
	// Failing are the selected clusters on which an expression failed because a claim or score is missing.
	Failing                  []string
	Selected, Penalized      int
	Satisfied, Misconfigured engine.Condition
	RecheckAt                time.Time
	// ScoresDue is when delayed scores may be written.
	ScoresDue time.Time
	// Verdicts has the verdict on every cluster as text.
	Verdicts map[string]string `json:",omitempty"`
	// Slices and Status are stored when the plan is applied.
	Slices []*clusterv1beta1.PlacementDecision `json:",omitempty"`
	Status *clusterv1beta1.PlacementStatus     `json:",omitempty"`
}

// Group is a decision group of an outcome.
type Group struct {
	Name   string
	Slices []NumberedSlice
}

// NumberedSlice is a slice of an outcome.
type NumberedSlice struct {
	Number   int
	Clusters []string
}

// JSON returns the outcome as bytes: equal outcomes give equal bytes.
func (o Outcome) JSON() string {
	out, err := json.Marshal(o) //nolint:musttag // it is compared, and never decoded
	if err != nil {
		panic(err)
	}
	return string(out)
}

// WithoutStored returns the outcome without verdicts and stored objects. It must not change unless the index finds the
// placement.
func (o Outcome) WithoutStored() Outcome {
	o.Verdicts, o.Slices, o.Status, o.ScoresDue = nil, nil, nil, time.Time{}
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

// DecidePlacement compiles one placement and runs the engine.
func DecidePlacement(s *fleet.Snapshot, placement *clusterv1beta1.Placement, env *celenv.Env) *engine.Result {
	return decide(s, placement, env, nil, nil)
}

// decide compiles one placement and runs the engine. Failing has since when an expression fails on clusters, braked the clusters that a
// brake keeps.
func decide(
	s *fleet.Snapshot, placement *clusterv1beta1.Placement, env *celenv.Env, failing map[string]time.Time, braked map[string]string,
) *engine.Result {
	compiled, faults := program.Compile(placement, env)
	key := fleet.Key{Namespace: placement.Namespace, Name: placement.Name}
	past := plan.ReadLedger(placement)
	past.Failing, past.Braked = failing, braked
	return engine.Decide(s, key, compiled, faults, past)
}

// OutcomeOf returns the outcome of a result, without stored objects.
func OutcomeOf(result *engine.Result) Outcome {
	out := Outcome{
		Decided: result.Decided, Selected: result.Selected, Penalized: result.Penalized,
		Satisfied: result.Satisfied, Misconfigured: result.Misconfigured, RecheckAt: result.RecheckAt, Verdicts: map[string]string{},
		Regrouped: result.Regrouped, Failing: result.Failing,
	}
	for _, group := range result.Groups {
		made := Group{Name: group.Name}
		for _, slice := range group.Slices {
			made.Slices = append(made.Slices, NumberedSlice{slice.Number, append([]string{}, slice.Clusters...)})
		}
		out.Groups = append(out.Groups, made)
	}
	for id, cluster := range result.Trace.Snapshot.Clusters() {
		out.Verdicts[cluster.Name()] = verdictText(result.Trace.Verdict(id))
	}
	return out
}

// verdictText returns a verdict with the details that depend on the choice.
func verdictText(v verdict.Verdict) string {
	out := v.Code.String()
	switch argument := v.Argument.(type) {
	case verdict.Constraint:
		out += fmt.Sprintf(" by %s: %q %v", argument.Term, argument.Domain, !argument.Lacks)
		if argument.TakenBy != "" {
			out += " of " + argument.TakenBy
		}
	case verdict.Wait:
		out += until(argument.Until)
	case verdict.Hold:
		out += until(argument.Until)
		if argument.Underlying != 0 {
			out += ", else " + argument.Underlying.String()
		}
	case verdict.Mismatches, verdict.Taint, verdict.Rank:
	}
	return out
}

// EngineOutcome runs the engine for one placement of a state and applies its plan to a copy of the state.
func EngineOutcome(w *State, s *fleet.Snapshot, key fleet.Key, env *celenv.Env) Outcome {
	return OutcomeAfter(w, decide(s, w.Placements[key], env, w.Failing[key], w.Braked[key]))
}

// OutcomeAfter returns the outcome of a result, with the stored objects after its plan is applied to a copy of the state.
func OutcomeAfter(w *State, result *engine.Result) Outcome {
	out := OutcomeOf(result)
	after := w.Copy()
	made := plan.Diff(result, w.Stored(result.Key), w.Now)
	for _, write := range made.Writes {
		after.Apply(write)
	}
	out.ScoresDue = made.RecheckAt
	out.Slices = after.SlicesOf(result.Key)
	out.Status = &after.Placements[result.Key].Status
	return out
}
