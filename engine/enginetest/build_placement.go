package enginetest

import (
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
)

// PlacementBuilder builds a Placement.
type PlacementBuilder struct{ object clusterv1beta1.Placement }

// Placement starts a placement that selects everything it can reach.
func Placement(namespace, name string) *PlacementBuilder {
	return &PlacementBuilder{clusterv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, UID: types.UID("uid-" + namespace + "-" + name), Generation: 1,
	}}}
}

// Sets names the sets to choose from.
func (b *PlacementBuilder) Sets(names ...string) *PlacementBuilder {
	b.object.Spec.ClusterSets = append(b.object.Spec.ClusterSets, names...)
	return b
}

// Number sets numberOfClusters.
func (b *PlacementBuilder) Number(of int32) *PlacementBuilder {
	b.object.Spec.NumberOfClusters = &of
	return b
}

// Predicate adds a predicate.
func (b *PlacementBuilder) Predicate(selector clusterv1beta1.ClusterSelector) *PlacementBuilder {
	b.object.Spec.Predicates = append(b.object.Spec.Predicates, clusterv1beta1.ClusterPredicate{RequiredClusterSelector: selector})
	return b
}

// CEL adds a predicate of expressions alone.
func (b *PlacementBuilder) CEL(expressions ...string) *PlacementBuilder {
	return b.Predicate(clusterv1beta1.ClusterSelector{CelSelector: clusterv1beta1.ClusterCelSelector{CelExpressions: expressions}})
}

// Labels adds a predicate of one label.
func (b *PlacementBuilder) Labels(key, value string) *PlacementBuilder {
	return b.Predicate(clusterv1beta1.ClusterSelector{LabelSelector: LabelIs(key, value)})
}

// Claims adds a predicate of claim requirements.
func (b *PlacementBuilder) Claims(wanted ...metav1.LabelSelectorRequirement) *PlacementBuilder {
	return b.Predicate(clusterv1beta1.ClusterSelector{ClaimSelector: clusterv1beta1.ClusterClaimSelector{MatchExpressions: wanted}})
}

// Tolerate adds a toleration.
func (b *PlacementBuilder) Tolerate(toleration clusterv1beta1.Toleration) *PlacementBuilder {
	b.object.Spec.Tolerations = append(b.object.Spec.Tolerations, toleration)
	return b
}

// Mode sets the mode of the prioritizer policy.
func (b *PlacementBuilder) Mode(mode clusterv1beta1.PrioritizerPolicyModeType) *PlacementBuilder {
	b.object.Spec.PrioritizerPolicy.Mode = mode
	return b
}

// BuiltIn adds a built-in prioritizer.
func (b *PlacementBuilder) BuiltIn(name string, weight int32) *PlacementBuilder {
	return b.Prioritizer(clusterv1beta1.PrioritizerConfig{Weight: &weight, ScoreCoordinate: &clusterv1beta1.ScoreCoordinate{
		Type: clusterv1beta1.ScoreCoordinateTypeBuiltIn, BuiltIn: name,
	}})
}

// AddOn adds a prioritizer by an add-on score.
func (b *PlacementBuilder) AddOn(resource, score string, weight int32) *PlacementBuilder {
	return b.Prioritizer(clusterv1beta1.PrioritizerConfig{Weight: &weight, ScoreCoordinate: &clusterv1beta1.ScoreCoordinate{
		Type:  clusterv1beta1.ScoreCoordinateTypeAddOn,
		AddOn: &clusterv1beta1.AddOnScore{ResourceName: resource, ScoreName: score},
	}})
}

// Prioritizer adds a prioritizer.
func (b *PlacementBuilder) Prioritizer(config clusterv1beta1.PrioritizerConfig) *PlacementBuilder {
	policy := &b.object.Spec.PrioritizerPolicy
	policy.Configurations = append(policy.Configurations, config)
	return b
}

// Group adds a predefined decision group.
func (b *PlacementBuilder) Group(name string, selector clusterv1beta1.GroupClusterSelector) *PlacementBuilder {
	strategy := &b.object.Spec.DecisionStrategy.GroupStrategy
	strategy.DecisionGroups = append(strategy.DecisionGroups, clusterv1beta1.DecisionGroup{GroupName: name, ClusterSelector: selector})
	return b
}

// GroupByLabel adds a predefined decision group of the clusters with a label.
func (b *PlacementBuilder) GroupByLabel(name, key, value string) *PlacementBuilder {
	return b.Group(name, clusterv1beta1.GroupClusterSelector{LabelSelector: LabelIs(key, value)})
}

// PerGroup sets clustersPerDecisionGroup, a number or a percentage.
func (b *PlacementBuilder) PerGroup(length string) *PlacementBuilder {
	b.object.Spec.DecisionStrategy.GroupStrategy.ClustersPerDecisionGroup = intstr.Parse(length)
	return b
}

// Obj returns the placement.
func (b *PlacementBuilder) Obj() *clusterv1beta1.Placement { return b.object.DeepCopy() }

// LabelIs selects by one label.
func LabelIs(key, value string) metav1.LabelSelector {
	return metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
}

// Wants is a requirement of a selector.
func Wants(key string, operator metav1.LabelSelectorOperator, values ...string) metav1.LabelSelectorRequirement {
	return metav1.LabelSelectorRequirement{Key: key, Operator: operator, Values: values}
}

// TolerateFor tolerates a taint key, whatever its value, for a number of seconds.
func TolerateFor(key string, effect clusterv1.TaintEffect, seconds int64) clusterv1beta1.Toleration {
	out := Tolerates(key, effect)
	out.TolerationSeconds = &seconds
	return out
}

// Tolerates tolerates a taint key without a time limit, whatever its value.
func Tolerates(key string, effect clusterv1.TaintEffect) clusterv1beta1.Toleration {
	return clusterv1beta1.Toleration{Key: key, Operator: clusterv1beta1.TolerationOpExists, Effect: effect}
}

// SliceBuilder builds a PlacementDecision.
type SliceBuilder struct {
	object clusterv1beta1.PlacementDecision
}

// Slice starts a slice of the unnamed group 0.
func Slice(namespace, placement string, number int, clusters ...string) *SliceBuilder {
	b := &SliceBuilder{clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: fmt.Sprintf("%s-decision-%d", placement, number),
		Labels: map[string]string{clusterv1beta1.PlacementLabel: placement},
	}}}
	b.object.Status.Decisions = []clusterv1beta1.ClusterDecision{}
	return b.Group("", 0).Clusters(clusters...)
}

// Group sets the group that the slice belongs to.
func (b *SliceBuilder) Group(name string, index int) *SliceBuilder {
	b.object.Labels[clusterv1beta1.DecisionGroupNameLabel] = name
	return b.Index(strconv.Itoa(index))
}

// Index sets the index label to any text.
func (b *SliceBuilder) Index(text string) *SliceBuilder {
	b.object.Labels[clusterv1beta1.DecisionGroupIndexLabel] = text
	return b
}

// Strategy sets the fingerprint of the strategy that the slice was filled under.
func (b *SliceBuilder) Strategy(fingerprint string) *SliceBuilder {
	b.object.Annotations = map[string]string{strategyAnnotation: fingerprint}
	return b
}

// Named gives the slice another name, so that it belongs to its placement by label alone.
func (b *SliceBuilder) Named(name string) *SliceBuilder {
	b.object.Name = name
	return b
}

// Unlisted takes the label of the placement away, as a slice is stored before readers see it.
func (b *SliceBuilder) Unlisted() *SliceBuilder {
	delete(b.object.Labels, clusterv1beta1.PlacementLabel)
	return b
}

// Clusters adds entries.
func (b *SliceBuilder) Clusters(names ...string) *SliceBuilder {
	for _, name := range names {
		b.object.Status.Decisions = append(b.object.Status.Decisions, clusterv1beta1.ClusterDecision{ClusterName: name})
	}
	return b
}

// Obj returns the slice.
func (b *SliceBuilder) Obj() *clusterv1beta1.PlacementDecision { return b.object.DeepCopy() }
