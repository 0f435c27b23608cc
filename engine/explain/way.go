package explain

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

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
	// maxWays is how many ways on from one verdict are followed: the shortest.
	maxWays = 6
	// maxTiers is how many tiers a placement may have.
	maxTiers = 16
	// bestScore and maxWeight are the most that an add-on may report and that a prioritizer may count.
	bestScore, maxWeight = 100, 10
	// anything is the value of a label that only has to be there.
	anything = "yes"
)

// ways returns the ways on from a run that did not select the cluster, the shortest first.
func (s *search) ways(result *engine.Result) [][]Step {
	found := s.verdict(result)
	var out [][]Step
	switch found.Code {
	case verdict.OutsideSets:
		out = s.intoSets(result.Trace, s.cluster(result))
	case verdict.Mismatch, verdict.TooCostly:
		out = append(meeting(result.Trace.Program.Predicates, s.cluster(result)), []Step{{Action: Admit}})
	case verdict.OutsideTiers:
		out = intoTiers(result.Trace.Program, s.cluster(result))
	case verdict.Tainted, verdict.Expired:
		out = tolerating(s.cluster(result), result.Trace.Program.Tolerations, clusterv1.TaintEffectPreferNoSelect)
	case verdict.ConstraintBlocked:
		out = s.uncapped(result, found.Argument)
	case verdict.Waiting:
		out = waiting(found.Argument)
	case verdict.Outranked:
		out = s.winning(result)
	default:
		return nil
	}
	out = slices.DeleteFunc(out, func(way []Step) bool { return len(way) == 0 })
	slices.SortStableFunc(out, func(a, b []Step) int { return len(a) - len(b) })
	return out[:min(maxWays, len(out))]
}

func repeats(steps []Step) func(Step) bool {
	return func(step Step) bool { return slices.ContainsFunc(steps, step.same) }
}

func (s *search) cluster(result *engine.Result) *fleet.Cluster {
	return result.Trace.Snapshot.Cluster(s.in(result))
}

// intoSets returns how the cluster gets into a set that the placement may choose from: into one that is bound, or by
// binding one that has it. A set that the reader may not see is never named, bound or not.
func (s *search) intoSets(trace *engine.Trace, cluster *fleet.Cluster) [][]Step {
	var out [][]Step
	asked := trace.Program.ClusterSets
	bound := trace.Snapshot.BoundSets(trace.Program.Key.Namespace)
	for set := range trace.Snapshot.Sets() {
		selector, ok := set.Selector()
		if !ok || !s.seesSet(set.Name) {
			continue
		}
		var reach []Step
		if !slices.Contains(bound, set.Name) {
			reach = append(reach, Step{Action: Bind, Value: set.Name})
		}
		if len(asked) > 0 && !slices.Contains(asked, set.Name) {
			reach = append(reach, Step{Action: Include, Value: set.Name})
		}
		join, possible := meets(selector, cluster)
		if possible && len(reach)+len(join) > 0 {
			out = append(out, slices.Concat(join, reach))
		}
	}
	return out
}

// seesSet reports whether a fix may name a set.
func (s *search) seesSet(name string) bool { return s.SetVisible == nil || s.SetVisible(name) }

// meeting returns for each predicate without unmet expressions how the cluster comes to match it.
func meeting(predicates []program.Predicate, cluster *fleet.Cluster) [][]Step {
	var out [][]Step
	for _, predicate := range predicates {
		if steps, possible := meets(predicate.Selector, cluster); possible {
			out = append(out, steps)
		}
	}
	return out
}

// meets returns the labels and claims that a cluster lacks to match a selector. Possible is false where the selector asks
// for another name.
func meets(selector fleet.Selector, cluster *fleet.Cluster) (steps []Step, possible bool) {
	for _, requirement := range selector {
		if requirement.Matches(cluster) {
			continue
		}
		if requirement.Source == fleet.Name {
			return nil, false
		}
		steps = append(steps, met(requirement))
	}
	return steps, true
}

// met returns the step that makes a requirement hold.
func met(requirement fleet.Requirement) Step {
	give, take := Label, Unlabel
	if requirement.Source == fleet.Claim {
		give, take = Claim, Unclaim
	}
	switch requirement.Operator {
	case metav1.LabelSelectorOpIn:
		return Step{Action: give, Key: requirement.Key, Value: requirement.Values[0]}
	case metav1.LabelSelectorOpExists:
		return Step{Action: give, Key: requirement.Key, Value: anything}
	default:
		return Step{Action: take, Key: requirement.Key}
	}
}

func intoTiers(p *program.Program, cluster *fleet.Cluster) [][]Step {
	var predicates []program.Predicate
	for _, tier := range p.Tiers {
		predicates = append(predicates, tier.Predicate)
	}
	out := meeting(predicates, cluster)
	if len(p.Tiers) < maxTiers {
		out = append(out, []Step{{Action: AddTier}})
	}
	return out
}

// tolerating returns the one way to tolerate every taint of a cluster that is not tolerated, but for those of an effect.
func tolerating(cluster *fleet.Cluster, tolerations []program.Toleration, except clusterv1.TaintEffect) [][]Step {
	var out []Step
	for _, taint := range cluster.Object.Spec.Taints {
		if taint.Effect == except || tolerated(taint, tolerations) {
			continue
		}
		out = append(out, Step{Action: Tolerate, Key: taint.Key, Value: taint.Value, Effect: string(taint.Effect)})
	}
	return [][]Step{out}
}

// tolerated says whether a taint is tolerated for ever. A step too much does no harm: what is not needed is left out.
func tolerated(taint clusterv1.Taint, tolerations []program.Toleration) bool {
	return slices.ContainsFunc(tolerations, func(t program.Toleration) bool {
		return t.Seconds == nil && (t.Key == "" || t.Key == taint.Key) && (t.Effect == "" || t.Effect == taint.Effect) &&
			(t.Exists || t.Value == taint.Value)
	})
}

// uncapped returns how a cluster gets past anti-affinity or a spread constraint: into a domain that has room, or by a
// skew that allows it.
func (s *search) uncapped(result *engine.Result, argument verdict.Argument) [][]Step {
	limit, ok := argument.(verdict.Constraint)
	if !ok {
		return nil
	}
	var out [][]Step
	for _, topology := range s.topologies(result.Trace.Program) {
		if strings.HasSuffix(limit.Constraint, " over "+topology.String()) {
			out = append(out, s.elsewhere(result, topology)...)
		}
	}
	for i, term := range s.Placement.Spec.SpreadPolicy.SpreadConstraints {
		if limit.Lacks || limit.Constraint != "spread over "+topologyText(term) {
			continue
		}
		skew := bounded(int64(max(term.MaxSkew, 1)))
		out = append(out, s.counted(Step{Action: Skew, Index: i}, guess{1, skew + 1}, skew+bounded(int64(result.Selected))+1))
	}
	return append(out, s.winning(result)...)
}

func (*search) topologies(p *program.Program) []program.Topology {
	out := slices.Clone(p.AntiAffinity)
	for _, constraint := range p.Spread {
		out = append(out, constraint.Topology)
	}
	return out
}

// elsewhere returns the steps that put the cluster into another domain: the emptiest that another cluster is in, and one of
// its own.
func (s *search) elsewhere(result *engine.Result, topology program.Topology) [][]Step {
	counts := map[string]int{}
	for id, cluster := range result.Trace.Snapshot.Clusters() {
		if value, has := topology.Domain(cluster); has {
			counts[value] += 0
			if result.Trace.Ranking.Has(id) {
				counts[value]++
			}
		}
	}
	action := Label
	switch {
	case topology.Source == fleet.Claim:
		action = Claim
	case topology.Key == clusterv1beta2.ClusterSetLabel: // its domains are sets
		maps.DeleteFunc(counts, func(set string, _ int) bool { return !s.seesSet(set) })
	}
	own := s.Snapshot.Name(s.id)
	var out [][]Step
	if emptiest, ok := emptiest(counts); ok && emptiest != own {
		out = append(out, []Step{{Action: action, Key: topology.Key, Value: emptiest}})
	}
	return append(out, []Step{{Action: action, Key: topology.Key, Value: own}})
}

// emptiest returns the domain with the fewest selected clusters, the first by name of several.
func emptiest(counts map[string]int) (domain string, ok bool) {
	for value, count := range counts {
		if !ok || cmp.Or(cmp.Compare(count, counts[domain]), cmp.Compare(value, domain)) < 0 {
			domain, ok = value, true
		}
	}
	return domain, ok
}

func waiting(argument verdict.Argument) [][]Step {
	var out [][]Step
	if wait, ok := argument.(verdict.Wait); ok && !wait.Until.IsZero() {
		out = append(out, []Step{{Action: Wait, At: timeOrNil(wait.Until)}})
	}
	return append(out, []Step{{Action: FailBack}})
}

// winning returns how a cluster that others beat gets a place: by a toleration where a taint put it after them, by a higher score
// of an add-on, by more weight of what it is better at, or by more clusters.
func (s *search) winning(result *engine.Result) [][]Step {
	trace := result.Trace
	out := tolerating(s.cluster(result), trace.Program.Tolerations, "")
	if ranking := trace.Ranking; len(ranking.Chosen) > 0 && ranking.IsCandidate(s.id) {
		out = append(out, s.scoring(trace), s.weighing(trace))
	}
	if trace.Program.Limited {
		from := bounded(int64(trace.Program.Wanted)) + 1
		rank, all := trace.Ranking.Rank(s.id).Position, bounded(int64(len(trace.Ranking.Candidates)+result.Selected))
		out = append(out, s.counted(Step{Action: Ask}, guess{1, bounded(int64(rank))}, max(from, all)))
	}
	return out
}

// missing returns how many points the cluster lacks to be chosen, as a guess.
func (s *search) missing(trace *engine.Trace) int64 {
	rank := trace.Ranking.Rank(s.id)
	out := rank.Cut - rank.Score
	if last, ok := trace.Ranking.Last(); ok && s.Snapshot.Name(last) < s.Snapshot.Name(s.id) {
		out++
	}
	return max(1, out)
}

// scoring returns the step by which the add-on that counts most ranks the cluster higher; none where no score is high enough.
func (s *search) scoring(trace *engine.Trace) []Step {
	var by program.Prioritizer
	for _, prioritizer := range trace.Program.Prioritizers {
		if prioritizer.Kind == program.AddOn && prioritizer.Weight > by.Weight {
			by = prioritizer
		}
	}
	if by.Weight == 0 {
		return nil
	}
	current := int32(0)
	if found := trace.Snapshot.Score(s.id, by.Resource); found != nil && !found.Expired(trace.Snapshot.Now) {
		current, _ = found.Value(by.Score)
	}
	likely := int64(current) + needed(s.missing(trace), by.Weight)
	if likely > bestScore {
		return nil
	}
	return s.counted(Step{Action: SetScore, Key: by.Resource, Value: by.Score}, guess{current + 1, bounded(likely)}, bestScore)
}

// weighing returns the step by which the prioritizer counts more that prefers the cluster most to the one that was chosen last; none
// where no weight is high enough.
func (s *search) weighing(trace *engine.Trace) []Step {
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
	if most == 0 {
		return nil
	}
	likely := by.Weight + needed(s.missing(trace), most)
	if likely > maxWeight {
		return nil
	}
	return s.counted(Step{Action: SetWeight, Key: by.Name()}, guess{bounded(by.Weight) + 1, bounded(likely)}, maxWeight)
}

// needed returns how many steps of a size make a distance.
func needed(distance, size int64) int64 { return (distance + size - 1) / size }

// bounded returns a number as a step holds it. What is more than that is out of reach anyway.
func bounded(number int64) int32 {
	return int32(min(max(number, -math.MaxInt32/2), math.MaxInt32/2))
}

// wording is what the texts of steps need to know.
type wording struct {
	namespace string
	spread    []clusterv1beta1.SpreadConstraintsTerm
}

func (w wording) topology(index int) string { return topologyText(w.spread[index]) }

func topologyText(term clusterv1beta1.SpreadConstraintsTerm) string {
	source := fleet.Label
	if term.TopologyKeyType == clusterv1beta1.TopologyKeyTypeClaim {
		source = fleet.Claim
	}
	return program.Topology{Source: source, Key: term.TopologyKey}.String()
}
