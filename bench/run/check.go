package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/bench"
	"github.com/berth-project/berth/engine/enginetest"
)

// sampled is how many stored decisions the oracle is asked about.
const sampled = 20

// contradicted counts the stored decisions, of a sample, that the oracle would not leave as they are, given all others as
// they are: a decision is a fixed point.
func (t *tale) contradicted(ctx context.Context) (bench.Figure, error) {
	world, err := readWorld(ctx, t.managed.admin)
	if err != nil {
		return bench.Figure{}, err
	}
	oracle, err := enginetest.NewOracle()
	if err != nil {
		return bench.Figure{}, fmt.Errorf("asking the oracle: %w", err)
	}
	wrong, asked := 0, 0
	keys := world.Keys()
	for i := 0; i < len(keys); i += max(1, len(keys)/sampled) {
		asked++
		said := oracle.Decide(world, keys[i])
		if diff := difference(said.Slices, world.SlicesOf(keys[i])); diff != "" {
			wrong++
			t.say("%s: stored is not what the oracle decides (-oracle +stored):\n%s", keys[i], diff)
		}
	}
	return bench.Figure{
		Name: "decisions that the oracle contradicts", Unit: bench.Requests, Value: float64(wrong),
		From: fmt.Sprintf("of a sample of %d", asked),
	}, nil
}

// difference says how two lists of slices differ in which clusters are in which slice.
func difference(oracle, stored []*clusterv1beta1.PlacementDecision) string {
	clusters := func(of []*clusterv1beta1.PlacementDecision) map[string][]string {
		out := map[string][]string{}
		for _, slice := range of {
			names := []string{}
			for _, decision := range slice.Status.Decisions {
				names = append(names, decision.ClusterName)
			}
			out[slice.Name] = names
		}
		return out
	}
	return cmp.Diff(clusters(oracle), clusters(stored))
}

// readWorld reads everything that decisions depend on. The lists are not of one instant; a hub that is settled does not
// change between them.
func readWorld(ctx context.Context, reader client.Client) (*enginetest.World, error) {
	var (
		clusters   clusterv1.ManagedClusterList
		scores     clusterv1alpha1.AddOnPlacementScoreList
		sets       clusterv1beta2.ManagedClusterSetList
		bindings   clusterv1beta2.ManagedClusterSetBindingList
		placements clusterv1beta1.PlacementList
		decisions  clusterv1beta1.PlacementDecisionList
	)
	var errs []error
	for _, list := range []client.ObjectList{&clusters, &scores, &sets, &bindings, &placements, &decisions} {
		errs = append(errs, reader.List(ctx, list))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("reading the hub: %w", err)
	}
	world := enginetest.NewWorld().At(time.Now())
	addAll(world, clusters.Items)
	addAll(world, scores.Items)
	addAll(world, sets.Items)
	addAll(world, placements.Items)
	addAll(world, decisions.Items)
	for _, binding := range bindings.Items {
		world.Bind(binding.Namespace, binding.Spec.ClusterSet)
	}
	return world, nil
}

func addAll[T any](to *enginetest.World, items []T) {
	for i := range items {
		to.Add(any(&items[i]))
	}
}
