package wake_test

import (
	"k8s.io/apimachinery/pkg/util/intstr"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
)

// specOption changes an empty spec.
type specOption = func(*clusterv1beta1.PlacementSpec)

func with(changes ...specOption) *clusterv1beta1.Placement {
	out := p().Obj()
	for _, change := range changes {
		change(&out.Spec)
	}
	return out
}

func withGroup(selector clusterv1beta1.GroupClusterSelector) specOption {
	return func(spec *clusterv1beta1.PlacementSpec) {
		strategy := &spec.DecisionStrategy.GroupStrategy
		strategy.DecisionGroups = append(strategy.DecisionGroups, clusterv1beta1.DecisionGroup{GroupName: "canary", ClusterSelector: selector})
	}
}

func withOneCluster(spec *clusterv1beta1.PlacementSpec) { spec.NumberOfClusters = new(int32(1)) }

func expressions(texts ...string) clusterv1beta1.ClusterCelSelector {
	return clusterv1beta1.ClusterCelSelector{CelExpressions: texts}
}

func withTier(selector clusterv1beta1.ClusterSelector) specOption {
	return func(spec *clusterv1beta1.PlacementSpec) {
		spec.Tiers = []clusterv1beta1.ClusterTier{{Name: "first", ClusterSelector: selector}, {Name: "rest"}}
	}
}

func withBudget(of intstr.IntOrString) specOption {
	return func(spec *clusterv1beta1.PlacementSpec) {
		spec.DisruptionPolicy = &clusterv1beta1.DisruptionPolicy{MaxUnavailable: of}
	}
}

func withSelector(selector clusterv1beta1.ClusterSelector) specOption {
	return func(spec *clusterv1beta1.PlacementSpec) {
		spec.Predicates = append(spec.Predicates, clusterv1beta1.ClusterPredicate{RequiredClusterSelector: selector})
	}
}

func withSpread(terms ...clusterv1beta1.SpreadConstraintsTerm) specOption {
	return func(spec *clusterv1beta1.PlacementSpec) { spec.SpreadPolicy.SpreadConstraints = terms }
}

func withAntiAffinity(terms ...clusterv1beta1.AntiAffinityTerm) specOption {
	return func(spec *clusterv1beta1.PlacementSpec) { spec.SpreadPolicy.AntiAffinity = terms }
}

func topologyTerm(of clusterv1beta1.TopologyKeyType, key string) clusterv1beta1.SpreadConstraintsTerm {
	return clusterv1beta1.SpreadConstraintsTerm{TopologyKey: key, TopologyKeyType: of}
}
