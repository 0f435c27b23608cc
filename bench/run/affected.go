package run

import (
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/internal/cli/generate"
)

// clusterMatcher is the selection of a generated placement. It is parsed here again, so that the evaluations of a manager can
// be compared with an independent count.
type clusterMatcher struct {
	sets          map[string]bool
	label, claim  labels.Selector
	ranksByScores bool
}

// clusterMatchers returns the matchers of placements of a fleet.
func clusterMatchers(f *generate.Fleet, placements []*clusterv1beta1.Placement) ([]clusterMatcher, error) {
	bound := map[string]map[string]bool{}
	for _, binding := range f.Bindings {
		if bound[binding.Namespace] == nil {
			bound[binding.Namespace] = map[string]bool{}
		}
		bound[binding.Namespace][binding.Spec.ClusterSet] = true
	}
	out := make([]clusterMatcher, 0, len(placements))
	for _, placement := range placements {
		required := placement.Spec.Predicates[0].RequiredClusterSelector
		label, labelErr := metav1.LabelSelectorAsSelector(&required.LabelSelector)
		claim, claimErr := metav1.LabelSelectorAsSelector(&metav1.LabelSelector{MatchExpressions: required.ClaimSelector.MatchExpressions})
		if err := errors.Join(labelErr, claimErr); err != nil {
			return nil, fmt.Errorf("reading the selectors of %s: %w", placement.Name, err)
		}
		byScore := func(c clusterv1beta1.PrioritizerConfig) bool { return c.ScoreCoordinate.AddOn != nil }
		out = append(out, clusterMatcher{
			sets: bound[placement.Namespace], label: label, claim: claim,
			ranksByScores: slices.ContainsFunc(placement.Spec.PrioritizerPolicy.Configurations, byScore),
		})
	}
	return out, nil
}

// matches returns whether the placement may select a cluster.
func (c clusterMatcher) matches(cluster *clusterv1.ManagedCluster) bool {
	if !c.sets[cluster.Labels[clusterv1beta2.ClusterSetLabel]] || !c.label.Matches(labels.Set(cluster.Labels)) {
		return false
	}
	claims := labels.Set{}
	for _, claim := range cluster.Status.ClusterClaims {
		claims[claim.Name] = claim.Value
	}
	return c.claim.Matches(claims)
}

// affectedCount is how many placements some changes affect, and how many pairs of placement and change there are.
type affectedCount struct{ placements, times int }

// countAffected counts the placements that some changes affect.
func countAffected(all []clusterMatcher, changes int, by func(a clusterMatcher, i int) bool) affectedCount {
	var out affectedCount
	for _, a := range all {
		before := out.times
		for i := range changes {
			if by(a, i) {
				out.times++
			}
		}
		if out.times > before {
			out.placements++
		}
	}
	return out
}
