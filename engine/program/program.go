package program

import (
	"slices"
	"time"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/fleet"
)

// Program is a compiled Placement. It is immutable and safe for concurrent use.
type Program struct {
	Key fleet.Key
	// ClusterSets is spec.clusterSets; empty means every set bound to the namespace.
	ClusterSets []string
	// Predicates are ORed. None at all matches every cluster.
	Predicates  []Predicate
	Tolerations []Toleration
	// Prioritizers have a weight other than 0 and are in a fixed order.
	Prioritizers []Prioritizer
	// Wanted is spec.numberOfClusters. Limited is false where it is absent, which wants every cluster.
	Wanted  int
	Limited bool
	Groups  Strategy
	// Tiers are spec.tiers in order. None at all puts every cluster in one tier.
	Tiers []Tier
	// Stabilization is how long a cluster of an earlier tier must qualify before it displaces one of a later tier.
	Stabilization time.Duration
	// Spread are the spread constraints in order of importance; soft ones are left out where Limited is false.
	Spread []Constraint
	// SpreadWeight is what the Spread prioritizer counts; it means nothing without constraints.
	SpreadWeight int64
	// AntiAffinity are topologies of which each domain gets at most one cluster.
	AntiAffinity []Topology
	// Budget limits how many clusters are dropped in a stretch of time; nil where nothing does.
	Budget *Budget
	// ByScore orders decisions by score and shows scores, rewritten at most once per ScoreEvery.
	ByScore    bool
	ScoreEvery time.Duration
	// Unsupported names the parts of the spec that are legal and that this version does not schedule by.
	Unsupported []string
}

// Predicate is one of spec.predicates: every requirement and every expression must hold.
type Predicate struct {
	Selector    fleet.Selector
	Expressions []*celenv.Expression
}

// Tier is one of spec.tiers.
type Tier struct {
	Name string
	Predicate
}

// Topology divides clusters into domains by the value of a label or claim.
type Topology struct {
	Source fleet.Source
	Key    string
}

// String returns the topology as a user would write it, such as "label region".
func (t Topology) String() string { return t.Source.String() + " " + t.Key }

// Domain returns the value that puts a cluster in its domain. Ok is false where the cluster lacks the label or claim.
func (t Topology) Domain(c *fleet.Cluster) (value string, ok bool) {
	value, ok = c.Facts(t.Source)[t.Key]
	return value, ok
}

// Constraint is one of spec.spreadPolicy.spreadConstraints.
type Constraint struct {
	Topology
	// MaxSkew is at least 1.
	MaxSkew int
	// Hard is set where fewer clusters are selected rather than exceed the skew.
	Hard bool
}

// Budget is spec.disruptionPolicy.
type Budget struct {
	// Count is the number of clusters, or the percentage of the selected where Percent is set.
	Count   int
	Percent bool
	// Interval is at least a second.
	Interval time.Duration
}

// Allows returns how many of the selected clusters may be dropped within the interval; a percentage rounds up.
func (b Budget) Allows(selected int) int {
	if b.Percent {
		return (b.Count*selected + 99) / 100
	}
	return b.Count
}

// Toleration is one of spec.tolerations.
type Toleration struct {
	// Key is empty where every key is tolerated, Effect where every effect is.
	Key    string
	Exists bool
	Value  string
	Effect clusterv1.TaintEffect
	// Seconds is how long after its timeAdded a taint is tolerated; nil means for ever, 0 or less never.
	Seconds *int64
}

// Kind says which formula a prioritizer uses.
type Kind uint8

// The prioritizers.
const (
	Balance Kind = iota + 1
	Steady
	AllocatableCPU
	AllocatableMemory
	AddOn
)

// Prioritizer is a way to score clusters, and how much the score counts.
type Prioritizer struct {
	Kind   Kind
	Weight int64
	// Resource and Score name an add-on score; empty for the others.
	Resource, Score string
}

// Name returns the name under which the prioritizer appears in traces, such as "Balance" or "AddOn/resource/score".
func (p Prioritizer) Name() string {
	switch p.Kind {
	case Balance:
		return "Balance"
	case Steady:
		return "Steady"
	case AllocatableCPU:
		return "ResourceAllocatableCPU"
	case AllocatableMemory:
		return "ResourceAllocatableMemory"
	default:
		return "AddOn/" + p.Resource + "/" + p.Score
	}
}

// Scores says whether one of the prioritizers is of the given kind.
func (p *Program) Scores(kind Kind) bool {
	return slices.ContainsFunc(p.Prioritizers, func(by Prioritizer) bool { return by.Kind == kind })
}

// ReadsScore says whether an AddOnPlacementScore of this name can change what the program decides.
func (p *Program) ReadsScore(resource string) bool {
	if slices.ContainsFunc(p.Prioritizers, func(by Prioritizer) bool { return by.Kind == AddOn && by.Resource == resource }) {
		return true
	}
	return slices.ContainsFunc(p.expressions(), func(x *celenv.Expression) bool {
		names, all := x.Scores()
		return all || slices.Contains(names, resource)
	})
}

// mayBeKept says whether a run of the program can end with what was decided before: always where something is not
// supported, and where expressions may turn out to fail on every cluster.
func (p *Program) mayBeKept() bool { return len(p.Unsupported) > 0 || p.hasExpressions() }

func (p *Program) hasExpressions() bool {
	return slices.ContainsFunc(p.Predicates, func(by Predicate) bool { return len(by.Expressions) > 0 })
}

// Facets returns the parts of a cluster that the program's expressions read.
func (p *Program) Facets() celenv.Facet {
	var out celenv.Facet
	for _, expression := range p.expressions() {
		out |= expression.Facets()
	}
	return out
}

func (p *Program) expressions() []*celenv.Expression {
	var out []*celenv.Expression
	for _, predicate := range p.Predicates {
		out = append(out, predicate.Expressions...)
	}
	return out
}
