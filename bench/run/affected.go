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
	"github.com/berth-project/berth/internal/generate"
)

// clusterMatcher is what a placement of a generated fleet asks for. It is read anew here, so that what a manager looks at can be held
// against what concerns it.
type clusterMatcher struct {
	sets          map[string]bool
	label, claim  labels.Selector
	ranksByScores bool
}

// clusterMatchers reads placements of a fleet.
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
		asked := placement.Spec.Predicates[0].RequiredClusterSelector
		label, labelErr := metav1.LabelSelectorAsSelector(&asked.LabelSelector)
		claim, claimErr := metav1.LabelSelectorAsSelector(&metav1.LabelSelector{MatchExpressions: asked.ClaimSelector.MatchExpressions})
		if err := errors.Join(labelErr, claimErr); err != nil {
			return nil, fmt.Errorf("reading what %s asks for: %w", placement.Name, err)
		}
		byScore := func(c clusterv1beta1.PrioritizerConfig) bool { return c.ScoreCoordinate.AddOn != nil }
		out = append(out, clusterMatcher{
			sets: bound[placement.Namespace], label: label, claim: claim,
			ranksByScores: slices.ContainsFunc(placement.Spec.PrioritizerPolicy.Configurations, byScore),
		})
	}
	return out, nil
}

// matches says whether the placement may choose a cluster.
func (a clusterMatcher) matches(cluster *clusterv1.ManagedCluster) bool {
	if !a.sets[cluster.Labels[clusterv1beta2.ClusterSetLabel]] || !a.label.Matches(labels.Set(cluster.Labels)) {
		return false
	}
	claims := labels.Set{}
	for _, claim := range cluster.Status.ClusterClaims {
		claims[claim.Name] = claim.Value
	}
	return a.claim.Matches(claims)
}

// affectedCount is whom changes concern: how many placements, and how often, where one is concerned by each of some changes.
type affectedCount struct{ placements, times int }

// countAffected counts those whom some changes concern.
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
