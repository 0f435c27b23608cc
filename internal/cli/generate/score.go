package generate

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
)

const (
	// ScoreResource is the name of the object with the add-on score of every cluster.
	ScoreResource = "room"
	// ScoreName is the name of the score in it.
	ScoreName = "free"

	minScore, maxScore = -100, 100
)

// scores returns a random score for every cluster.
func (g *generator) scores(of []*clusterv1.ManagedCluster) []*clusterv1alpha1.AddOnPlacementScore {
	out := make([]*clusterv1alpha1.AddOnPlacementScore, 0, len(of))
	for _, cluster := range of {
		out = append(out, Score(cluster.Name, int32(g.between(minScore, maxScore)))) //nolint:gosec // at most a hundred
	}
	return out
}

// Score returns the score of a cluster.
func Score(cluster string, value int32) *clusterv1alpha1.AddOnPlacementScore {
	out := &clusterv1alpha1.AddOnPlacementScore{ObjectMeta: metav1.ObjectMeta{Namespace: cluster, Name: ScoreResource}}
	out.Status.Scores = []clusterv1alpha1.AddOnPlacementScoreItem{{Name: ScoreName, Value: value}}
	return out
}

// rankByScore makes a percentage of the placements rank by the score.
func (g *generator) rankByScore(placements []*clusterv1beta1.Placement, percent int) {
	for _, placement := range placements {
		if !g.chance(percent) {
			continue
		}
		weight, policy := int32(1), &placement.Spec.PrioritizerPolicy
		policy.Configurations = append(policy.Configurations, clusterv1beta1.PrioritizerConfig{
			Weight: &weight,
			ScoreCoordinate: &clusterv1beta1.ScoreCoordinate{
				Type:  clusterv1beta1.ScoreCoordinateTypeAddOn,
				AddOn: &clusterv1beta1.AddOnScore{ResourceName: ScoreResource, ScoreName: ScoreName},
			},
		})
	}
}
