package enginetest

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/fleet"
)

// Oracle is the slow scheduler that is obviously right.
type Oracle struct{ env *celenv.Env }

// NewOracle returns an oracle with a CEL environment of its own.
func NewOracle() (*Oracle, error) {
	env, err := celenv.New()
	if err != nil {
		return nil, err
	}
	return &Oracle{env}, nil
}

// run is one decision of the oracle. Every set is a map by cluster name.
type run struct {
	w    *State
	key  fleet.Key
	env  *celenv.Env
	spec clusterv1beta1.PlacementSpec

	prior []storedSlice
	// incumbents are the clusters that are in the decisions and exist.
	incumbents map[string]bool
	memory     memory
	weight     map[string]int
	// antiAffinity are the terms of anti-affinity, even the constraints of spread; paths are the domains of every cluster.
	antiAffinity, spread []topology
	paths                map[string][]string
	evaluated            map[evaluationKey]evaluation
	views                map[string]*view
}

// storedSlice is one slice as it is stored.
type storedSlice struct {
	number, index   int
	group, strategy string
	clusters        []string
	entries         []clusterv1beta1.ClusterDecision
}

// Decide returns the correct outcome for one placement of a state.
func (o *Oracle) Decide(w *State, key fleet.Key) Outcome {
	if invalid(w.Placements[key], o.env) {
		return o.newRun(w, key).keep(faultMessage(w.Placements[key], o.env))
	}
	return o.run(w, key).decide()
}

// newRun returns a run with the stored state, without the spec.
func (o *Oracle) newRun(w *State, key fleet.Key) *run {
	r := &run{
		w: w, key: key, env: o.env, spec: w.Placements[key].Spec, incumbents: map[string]bool{},
		evaluated: map[evaluationKey]evaluation{}, views: map[string]*view{},
	}
	r.readPrior()
	return r
}

func (o *Oracle) run(w *State, key fleet.Key) *run {
	r := o.newRun(w, key)
	r.memory, r.weight = readMemory(w.Placements[key], w.Now), weights(r.spec.PrioritizerPolicy)
	r.terms()
	return r
}

// readPrior reads the stored slices. Of slices with the same number only one can be the placement's own, so they are
// sorted by their content.
func (r *run) readPrior() {
	for _, object := range r.w.SlicesOf(r.key) {
		_, number, _ := splitName(object.Name)
		index, err := strconv.Atoi(object.Labels[clusterv1beta1.DecisionGroupIndexLabel])
		if err != nil || index < 0 {
			index = -1
		}
		slice := storedSlice{
			number: number, index: index,
			group:    object.Labels[clusterv1beta1.DecisionGroupNameLabel],
			strategy: strategyOf(object),
			entries:  object.Status.Decisions,
		}
		for _, decision := range object.Status.Decisions {
			slice.clusters = append(slice.clusters, decision.ClusterName)
			if r.w.Clusters[decision.ClusterName] != nil {
				r.incumbents[decision.ClusterName] = true
			}
		}
		r.prior = append(r.prior, slice)
	}
	slices.SortFunc(r.prior, func(a, b storedSlice) int {
		return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.index, b.index), cmp.Compare(a.group, b.group),
			cmp.Compare(a.strategy, b.strategy), slices.Compare(a.clusters, b.clusters))
	})
}

// priorStrategy returns the strategy of the slices. If they differ, a change of strategy was interrupted, and must not look
// complete.
func (r *run) priorStrategy() string {
	named := map[string]bool{}
	for _, slice := range r.prior {
		if slice.strategy != "" {
			named[slice.strategy] = true
		}
	}
	switch len(named) {
	case 0:
		return ""
	case 1:
		return slices.Collect(maps.Keys(named))[0]
	default:
		return "interrupted"
	}
}

// keep keeps the decisions, except for clusters that the namespace can no longer reach.
func (r *run) keep(problem string) Outcome {
	scope := r.candidateScope(nil, r.incumbents)
	stay := map[string]bool{}
	verdicts := map[string]string{}
	for name, cluster := range r.w.Clusters {
		switch {
		case scope.candidates[name] && r.incumbents[name]:
			stay[name] = true
			verdicts[name] = "Kept"
		case scope.candidates[name]:
			verdicts[name] = "Undecided"
		default:
			verdicts[name] = outside(cluster)
		}
	}
	out := Outcome{
		Groups: r.keptGroups(stay), Selected: len(stay), Verdicts: verdicts,
		Satisfied:     satisfiedIs("False", "NotAllDecisionsScheduled", "Nothing is decided while the placement is misconfigured"),
		Misconfigured: misconfiguredIs(problem),
	}
	r.store(&out, r.priorStrategy(), r.keptEntries())
	r.storeConditions(&out, out.Satisfied, out.Misconfigured)
	return out
}

// decide applies the stages: candidates, choice, budget, groups.
func (r *run) decide() Outcome {
	first := r.view(r.incumbents)
	if first.failure != "" {
		out := r.keep(first.failure)
		out.RecheckAt = earliest(first.matched)
		if first.spent <= placementBudget {
			out.Failing = slices.Sorted(maps.Keys(first.failing))
			if everywhere := first.failsEverywhere(out.Groups); everywhere.Status != "" {
				r.storeConditions(&out, everywhere)
			}
		}
		return out
	}
	chosen, next := r.applyBudget(first, r.ideal(first))
	last := r.view(chosen)
	again := slices.Concat(first.rechecks, releases(next), r.failbackTimes(next))
	members := first.membership(chosen)
	again = append(again, members.rechecks...)
	again = append(again, first.leaving(chosen)...)
	if members.failure != "" {
		out := r.keep(members.failure)
		out.RecheckAt = earliest(again)
		return out
	}
	misconfigured, held := r.reported(first, chosen, next)
	if held {
		out := r.keep("")
		out.Misconfigured = misconfigured
		r.storeConditions(&out, misconfigured)
		out.RecheckAt = earliest(again)
		return out
	}
	judged := r.verdicts(first, last, next, chosen)
	out := Outcome{
		Decided: true, Selected: len(chosen), Verdicts: judged.verdicts,
		Satisfied:     r.satisfied(last, judged, len(chosen)),
		Misconfigured: misconfigured,
		RecheckAt:     earliest(again),
		Failing:       slices.Sorted(maps.Keys(first.failing)),
	}
	out.Groups, out.Regrouped = members.groups(chosen)
	for name := range chosen {
		if first.in[name] && r.hasPenalty(name) {
			out.Penalized++
		}
	}
	r.store(&out, fingerprint(r.spec.DecisionStrategy.GroupStrategy), r.entries(last))
	r.storeConditions(&out, out.Satisfied, out.Misconfigured, r.heldCondition(next, chosen), first.expressionCondition(chosen),
		r.expiredCondition(last, chosen, members.expired), r.spreadCondition(last.counter(chosen)))
	r.storeMemory(&out, next)
	return out
}

// choose returns the clusters that are chosen, and the memory of the next run. Ok is false if nothing can be decided.
func (r *run) choose() (chosen map[string]bool, next memory, ok bool) {
	first := r.view(r.incumbents)
	if first.failure != "" {
		return nil, memory{}, false
	}
	chosen, next = r.applyBudget(first, r.ideal(first))
	return chosen, next, first.membership(chosen).failure == ""
}

// earliest returns the first of some instants, or none.
func earliest(of []time.Time) time.Time {
	if len(of) == 0 {
		return time.Time{}
	}
	return slices.MinFunc(of, time.Time.Compare)
}

// strategyOf returns the strategy that a stored slice was filled under.
func strategyOf(object *clusterv1beta1.PlacementDecision) string {
	if deprecated, ok := object.Annotations[deprecatedStrategyAnnotation]; ok {
		return deprecated
	}
	return object.Annotations[strategyAnnotation]
}
