package enginetest

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
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
	w    *World
	key  fleet.Key
	env  *celenv.Env
	spec clusterv1beta1.PlacementSpec

	prior []earlier
	// seats are the clusters that are in the decisions and exist.
	seats    map[string]bool
	scope    reach
	verdicts map[string]string
	again    []time.Time
}

// earlier is one slice as it is stored.
type earlier struct {
	number, index   int
	group, strategy string
	clusters        []string
}

// Decide returns what is right for one placement of a world.
func (o *Oracle) Decide(w *World, key fleet.Key) Outcome {
	r := &run{w: w, key: key, env: o.env, spec: w.Placements[key].Spec, seats: map[string]bool{}, verdicts: map[string]string{}}
	r.readPrior()
	var out Outcome
	switch {
	case wrong(w.Placements[key], o.env):
		out = r.keep(words(w.Placements[key], o.env), r.priorStrategy())
	case unsupported(r.spec) != "":
		out = r.keep(unsupported(r.spec)+": not supported yet", r.priorStrategy())
	default:
		out = r.decide()
	}
	out.Verdicts = r.verdicts
	return out
}

// readPrior reads the stored slices. Two of one number, of which only one can be the placement's own, are told apart
// by what they hold.
func (r *run) readPrior() {
	for _, object := range r.w.SlicesOf(r.key) {
		_, number, _ := splitName(object.Name)
		index, err := strconv.Atoi(object.Labels[clusterv1beta1.DecisionGroupIndexLabel])
		if err != nil || index < 0 {
			index = -1
		}
		slice := earlier{
			number: number, index: index,
			group:    object.Labels[clusterv1beta1.DecisionGroupNameLabel],
			strategy: object.Annotations[strategyAnnotation],
		}
		for _, decision := range object.Status.Decisions {
			slice.clusters = append(slice.clusters, decision.ClusterName)
			if r.w.Clusters[decision.ClusterName] != nil {
				r.seats[decision.ClusterName] = true
			}
		}
		r.prior = append(r.prior, slice)
	}
	slices.SortFunc(r.prior, func(a, b earlier) int {
		return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.index, b.index), cmp.Compare(a.group, b.group),
			cmp.Compare(a.strategy, b.strategy), slices.Compare(a.clusters, b.clusters))
	})
}

// priorStrategy is the strategy that all slices which name one agree on. Where they do not, a change of strategy was
// interrupted, and it must not look finished.
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

// keep leaves the decisions alone, save for clusters that the namespace cannot reach any more.
func (r *run) keep(problem, strategy string) Outcome {
	r.scope = r.reach(nil)
	stay := map[string]bool{}
	for name, cluster := range r.w.Clusters {
		switch {
		case r.scope.candidates[name] && r.seats[name]:
			stay[name] = true
			r.verdicts[name] = "Kept"
		case r.scope.candidates[name]:
			r.verdicts[name] = "Undecided"
		default:
			r.verdicts[name] = outside(cluster)
		}
	}
	out := Outcome{
		Groups: r.keptGroups(stay), Selected: len(stay),
		Satisfied:     satisfiedIs("False", "NotAllDecisionsScheduled", "Nothing is decided while the placement is misconfigured"),
		Misconfigured: misconfiguredIs(problem),
	}
	r.store(&out, strategy)
	return out
}

// decide goes through the stages: sets, predicates, taints, scores, groups.
func (r *run) decide() Outcome {
	r.scope = r.reach(r.spec.ClusterSets)
	for name, cluster := range r.w.Clusters {
		if !r.scope.candidates[name] {
			r.verdicts[name] = outside(cluster)
		}
	}
	passed := r.predicates()
	if passed.dead != "" {
		r.verdicts = map[string]string{}
		out := r.keep("Predicate:"+passed.dead, r.priorStrategy())
		out.LookAgain = r.earliest()
		return out
	}
	tolerated, fell := r.taints(passed.in, passed.held)
	chosen := r.choose(tolerated, passed.guests)
	for name := range tolerated {
		switch {
		case !chosen[name]:
			r.verdicts[name] = "Beaten"
		case passed.held[name] || r.scope.held[name]:
			r.verdicts[name] = "Held"
		default:
			r.verdicts[name] = "Selected"
		}
	}
	out := Outcome{
		Decided: true, Groups: r.groups(chosen), Selected: len(chosen),
		Satisfied:     r.satisfied(len(chosen), fell),
		Misconfigured: misconfiguredIs(strings.Join(r.scope.problems, "; ")),
	}
	out.LookAgain = r.earliest()
	r.store(&out, fingerprint(r.spec.DecisionStrategy.GroupStrategy))
	return out
}

// earliest is the first instant at which the run has to look again; zero for never.
func (r *run) earliest() time.Time {
	if len(r.again) == 0 {
		return time.Time{}
	}
	return slices.MinFunc(r.again, time.Time.Compare)
}
