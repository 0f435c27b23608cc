package run

import (
	"context"
	"fmt"
	"time"

	"github.com/google/go-cmp/cmp"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/bench"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/internal/source"
)

// sampled is how many stored decisions the oracle is asked about.
const sampled = 20

// contradicted counts the stored decisions, of a sample, that the oracle would not leave as they are, given all others as
// they are: a decision is a fixed point.
func (t *tale) contradicted(ctx context.Context) (bench.Figure, error) {
	objects, err := source.Read(ctx, t.managed.admin)
	if err != nil {
		return bench.Figure{}, err
	}
	world := enginetest.WorldOf(objects.All()).At(time.Now())
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
