package explain

import (
	"cmp"
	"maps"
	"math"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/program"
	"github.com/berth-project/berth/engine/verdict"
)

const (
	// maxBranches is how many alternatives of one verdict are followed: those with the fewest steps.
	maxBranches = 6
	// maxTiers is how many tiers a placement may have.
	maxTiers = 16
	// maxScore and maxWeight are the highest score of an add-on and the highest weight of a prioritizer.
	maxScore, maxWeight = 100, 10
	// anyValue is the value of a label that only has to exist.
	anyValue = "yes"
)

// next returns the alternatives that may lead further than a run which did not select the cluster, those with the fewest
// steps first.
func (s *search) next(result *engine.Result) [][]Step {
	trace := result.Trace
	id, _ := trace.Snapshot.ID(s.name())
	cluster := trace.Snapshot.Cluster(id)
	var out [][]Step
	switch found := s.verdict(result); found.Code { //nolint:exhaustive // the others have no fix
	case verdict.OutsideSets:
		out = s.joinSets(trace, cluster)
	case verdict.Mismatch, verdict.TooCostly:
		out = append(matchAny(trace.Program.Predicates, cluster), []Step{{Action: Admit}})
	case verdict.OutsideTiers:
		var predicates []program.Predicate
		for _, tier := range trace.Program.Tiers {
			predicates = append(predicates, tier.Predicate)
		}
		if out = matchAny(predicates, cluster); len(trace.Program.Tiers) < maxTiers {
			out = append(out, []Step{{Action: AddTier}})
		}
	case verdict.Tainted, verdict.Expired:
		out = [][]Step{tolerateAll(cluster, false)}
	case verdict.ConstraintBlocked:
		if limit, ok := found.Argument.(verdict.Constraint); ok {
			out = append(s.unblock(result, limit), s.outrank(result, cluster)...)
		}
	case verdict.Waiting:
		if wait, ok := found.Argument.(verdict.Wait); ok && !wait.Until.IsZero() {
			out = append(out, []Step{{Action: Wait, At: timeOrNil(wait.Until)}})
		}
		out = append(out, []Step{{Action: FailBack}})
	case verdict.Outranked:
		out = s.outrank(result, cluster)
	}
	out = slices.DeleteFunc(out, func(steps []Step) bool { return len(steps) == 0 })
	slices.SortStableFunc(out, func(a, b []Step) int { return len(a) - len(b) })
	return out[:min(maxBranches, len(out))]
}

// joinSets returns how the cluster gets into a set that the placement may choose from: into a bound set, or by binding a set
// that has it. A set that the reader may not see is never named, bound or not.
func (s *search) joinSets(trace *engine.Trace, cluster *fleet.Cluster) [][]Step {
	var out [][]Step
	requested := trace.Program.ClusterSets
	bound := trace.Snapshot.BoundSets(trace.Program.Key.Namespace)
	for set := range trace.Snapshot.Sets() {
		selector, ok := set.Selector()
		if !ok || !s.setVisible(set.Name) {
			continue
		}
		steps, possible := match(selector, cluster)
		if !possible {
			continue
		}
		if !slices.Contains(bound, set.Name) {
			steps = append(steps, Step{Action: Bind, Value: set.Name})
		}
		if len(requested) > 0 && !slices.Contains(requested, set.Name) {
			steps = append(steps, Step{Action: Include, Value: set.Name})
		}
		out = append(out, steps)
	}
	return out
}

func (s *search) setVisible(name string) bool { return s.SetVisible == nil || s.SetVisible(name) }

// matchAny returns for each predicate the steps by which the cluster matches its labels, claims and names.
func matchAny(predicates []program.Predicate, cluster *fleet.Cluster) [][]Step {
	var out [][]Step
	for _, predicate := range predicates {
		if steps, possible := match(predicate.Selector, cluster); possible {
			out = append(out, steps)
		}
	}
	return out
}

// match returns the steps by which a cluster matches a selector. Possible is false if the selector requires another name.
func match(selector fleet.Selector, cluster *fleet.Cluster) (steps []Step, possible bool) {
	for _, requirement := range selector {
		if requirement.Matches(cluster) {
			continue
		}
		set, remove := Label, Unlabel
		if requirement.Source == fleet.Claim {
			set, remove = Claim, Unclaim
		}
		switch {
		case requirement.Source == fleet.Name:
			return nil, false
		case requirement.Operator == metav1.LabelSelectorOpIn:
			steps = append(steps, Step{Action: set, Key: requirement.Key, Value: requirement.Values[0]})
		case requirement.Operator == metav1.LabelSelectorOpExists:
			steps = append(steps, Step{Action: set, Key: requirement.Key, Value: anyValue})
		default:
			steps = append(steps, Step{Action: remove, Key: requirement.Key})
		}
	}
	return steps, true
}

// tolerateAll returns the tolerations of all taints of a cluster, either with the effect PreferNoSelect or with the others. Those
// that are tolerated already are left out in the end.
func tolerateAll(cluster *fleet.Cluster, prefer bool) []Step {
	var out []Step
	for _, taint := range cluster.Object.Spec.Taints {
		if prefer == (taint.Effect == clusterv1.TaintEffectPreferNoSelect) {
			out = append(out, Step{Action: Tolerate, Key: taint.Key, Value: taint.Value, Effect: string(taint.Effect)})
		}
	}
	return out
}

// unblock returns how a cluster gets past a term: into a domain with room, or by a higher maxSkew.
func (s *search) unblock(result *engine.Result, limit verdict.Constraint) [][]Step {
	p := result.Trace.Program
	if !limit.Term.Spread {
		return s.otherDomain(result, p.AntiAffinity[limit.Term.Index])
	}
	topology := p.Spread[limit.Term.Index].Topology
	out := s.otherDomain(result, topology)
	terms := s.Placement.Spec.SpreadPolicy.SpreadConstraints
	at := slices.IndexFunc(terms, func(term clusterv1beta1.SpreadConstraintsTerm) bool { return topologyOf(term) == topology })
	if !limit.Lacks {
		skew := max(terms[at].MaxSkew, 1)
		out = append(out, []Step{{
			Action: Skew, Index: at, low: bounded(int64(skew) + 1),
			Number: bounded(int64(skew) + int64(result.Selected) + 1),
		}})
	}
	return out
}

// otherDomain returns the steps that put the cluster into another domain: the existing domain with the fewest selected
// clusters, and a domain of its own.
func (s *search) otherDomain(result *engine.Result, topology program.Topology) [][]Step {
	counts := map[string]int{}
	for id, cluster := range result.Trace.Snapshot.Clusters() {
		value, has := topology.Domain(cluster)
		if !has || topology.Key == clusterv1beta2.ClusterSetLabel && !s.setVisible(value) { // the domains of this label are sets
			continue
		}
		counts[value] += 0
		if result.Trace.Ranking.Has(id) {
			counts[value]++
		}
	}
	action, own := Label, s.name()
	if topology.Source == fleet.Claim {
		action = Claim
	}
	var out [][]Step
	if len(counts) > 0 {
		emptiest := slices.MinFunc(slices.Collect(maps.Keys(counts)), func(a, b string) int {
			return cmp.Or(cmp.Compare(counts[a], counts[b]), cmp.Compare(a, b))
		})
		out = append(out, []Step{{Action: action, Key: topology.Key, Value: emptiest}})
	}
	return append(out, []Step{{Action: action, Key: topology.Key, Value: own}})
}

// outrank returns how an outranked cluster gets a place: by tolerating PreferNoSelect taints, by a higher score of an add-on, by
// a higher weight, or by a higher numberOfClusters.
func (s *search) outrank(result *engine.Result, cluster *fleet.Cluster) [][]Step {
	trace := result.Trace
	out := [][]Step{tolerateAll(cluster, true)}
	if ranking := trace.Ranking; len(ranking.Chosen) > 0 && ranking.IsCandidate(s.id) {
		out = append(out, s.raiseScore(trace), s.raiseWeight(trace))
	}
	if trace.Program.Limited {
		low := bounded(int64(trace.Program.Wanted)) + 1
		out = append(out, []Step{{Action: SetNumber, low: low, Number: max(low, bounded(int64(len(trace.Ranking.Candidates)+result.Selected)))}})
	}
	return out
}

// raiseScore returns the step that raises the add-on score with the highest weight; none if that is at its maximum.
func (s *search) raiseScore(trace *engine.Trace) []Step {
	var by program.Prioritizer
	for _, prioritizer := range trace.Program.Prioritizers {
		if prioritizer.Kind == program.AddOn && prioritizer.Weight > by.Weight {
			by = prioritizer
		}
	}
	current := int32(0)
	if found := trace.Snapshot.Score(s.id, by.Resource); found != nil && !found.Expired(trace.Snapshot.Now) {
		current, _ = found.Value(by.Score)
	}
	if by.Weight == 0 || current >= maxScore {
		return nil
	}
	return []Step{{Action: SetScore, Key: by.Resource, Value: by.Score, low: current + 1, Number: maxScore}}
}

// raiseWeight returns the step that raises a weight: the weight of the prioritizer that prefers the cluster most to the
// last selected one. It returns nil if no prioritizer does so, or if the weight is at its maximum.
func (s *search) raiseWeight(trace *engine.Trace) []Step {
	ranking := trace.Ranking
	last, ok := ranking.Last()
	if !ok {
		return nil
	}
	own, other := slices.Index(ranking.Candidates, s.id), slices.Index(ranking.Candidates, last)
	var by program.Prioritizer
	most := int64(0)
	for _, column := range ranking.Columns {
		if ahead := int64(column.Values[own]) - int64(column.Values[other]); ahead > most {
			by, most = column.Prioritizer, ahead
		}
	}
	if most == 0 || by.Weight >= maxWeight {
		return nil
	}
	return []Step{{Action: SetWeight, Key: by.Name(), by: by, low: bounded(by.Weight) + 1, Number: maxWeight}}
}

// bounded returns a number as a step has it. Larger numbers are never needed.
func bounded(number int64) int32 {
	return int32(min(max(number, -math.MaxInt32/2), math.MaxInt32/2))
}
