package run

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/internal/cli/generate"
)

const (
	// maxAffected is how many placements have selected the tainted cluster, at most all of them. It is also the largest number of
	// clusters by which a set grows.
	maxAffected = 500
	// onePercent is the divisor for one percent.
	onePercent = 100
	taintKey   = "bench"
	teamLabel  = "team"
)

// taintOne taints a cluster that many placements have selected.
func taintOne(ctx context.Context, t *hubRun, _ int) (change, error) {
	at, err := t.clusterWithDecisions(ctx, maxAffected)
	if err != nil {
		return change{}, err
	}
	cluster := t.clusters[at]
	taints := []clusterv1.Taint{{Key: taintKey, Effect: clusterv1.TaintEffectNoSelect}}
	all, err := clusterMatchers(t.fleet, t.created)
	return change{
		name: "a taint", writes: 1,
		write: func(ctx context.Context, to client.Client, _ int) error {
			return patch(ctx, to, &clusterv1.ManagedCluster{ObjectMeta: objectName(cluster)},
				map[string]any{"spec": map[string]any{"taints": taints}})
		},
		affected: countAffected(all, 1, func(a clusterMatcher, _ int) bool { return a.matches(cluster) }),
	}, err
}

// clusterWithDecisions returns the cluster whose number of decisions is closest to a number.
func (h *hubRun) clusterWithDecisions(ctx context.Context, target int) (int, error) {
	var stored clusterv1beta1.PlacementDecisionList
	if err := h.managed.admin.List(ctx, &stored); err != nil {
		return 0, fmt.Errorf("reading decisions: %w", err)
	}
	chosen := map[string]int{}
	for _, slice := range stored.Items {
		for _, decision := range slice.Status.Decisions {
			chosen[decision.ClusterName]++
		}
	}
	best, off := 0, -1
	for i, cluster := range h.clusters {
		away := max(chosen[cluster.Name], target) - min(chosen[cluster.Name], target)
		if off < 0 || away < off {
			best, off = i, away
		}
	}
	return best, nil
}

// relabelSome moves one percent of the clusters to other teams, with other clusters in each round.
func relabelSome(_ context.Context, t *hubRun, round int) (change, error) {
	var moved []*clusterv1.ManagedCluster
	for i := round; i < len(t.clusters); i += onePercent {
		moved = append(moved, t.clusters[i])
	}
	next := func(i int) string { return t.clusters[(i*onePercent+round+1)%len(t.clusters)].Labels[teamLabel] }
	return t.relabel("1 % relabelled", moved, teamLabel, next)
}

// growSet moves clusters of other sets to one set, another one in each round.
func growSet(_ context.Context, t *hubRun, round int) (change, error) {
	set := t.fleet.Sets[(round+1)%len(t.fleet.Sets)].Name
	var moved []*clusterv1.ManagedCluster
	for _, cluster := range t.clusters {
		if cluster.Labels[clusterv1beta2.ClusterSetLabel] != set && len(moved) < min(maxAffected, len(t.clusters)/2) {
			moved = append(moved, cluster)
		}
	}
	return t.relabel("a set that grows", moved, clusterv1beta2.ClusterSetLabel, func(int) string { return set })
}

// relabel changes a label of some clusters, at once in memory and later on the hub. It affects the placements that may select a
// changed cluster either before or after the change.
func (h *hubRun) relabel(name string, moved []*clusterv1.ManagedCluster, key string, value func(i int) string) (change, error) {
	before := make([]*clusterv1.ManagedCluster, 0, len(moved))
	for i, cluster := range moved {
		before = append(before, cluster.DeepCopy())
		cluster.Labels[key] = value(i)
	}
	all, err := clusterMatchers(h.fleet, h.created)
	return change{
		name: name, writes: len(moved),
		write: func(ctx context.Context, to client.Client, i int) error {
			labels := map[string]any{"metadata": map[string]any{"labels": map[string]any{key: moved[i].Labels[key]}}}
			return patch(ctx, to, &clusterv1.ManagedCluster{ObjectMeta: objectName(moved[i])}, labels)
		},
		affected: countAffected(all, len(moved), func(a clusterMatcher, i int) bool { return a.matches(before[i]) != a.matches(moved[i]) }),
	}, err
}

// scoreAll reverses the order of the add-on scores of every cluster, and restores it in the next round.
func scoreAll(_ context.Context, t *hubRun, round int) (change, error) {
	sign := int32(2*(round%2) - 1)
	all, err := clusterMatchers(t.fleet, t.created)
	return change{
		name: "a score of every cluster", writes: len(t.fleet.Scores),
		write: func(ctx context.Context, to client.Client, i int) error {
			old := t.fleet.Scores[i]
			next := generate.Score(old.Namespace, sign*old.Status.Scores[0].Value)
			return patchStatus(ctx, to, next, map[string]any{"scores": next.Status.Scores})
		},
		affected: countAffected(all, len(t.clusters), func(a clusterMatcher, i int) bool { return a.ranksByScores && a.matches(t.clusters[i]) }),
	}, err
}
