package run

import (
	"context"
	"fmt"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/bench"
	"github.com/berth-project/berth/internal/cli/generate"
)

const (
	// scoredPercent of the placements rank clusters by the score of an add-on.
	scoredPercent = 10
	// sparePlacements are generated at the start and stored one by one.
	sparePlacements = singlePlacements + 2*probes
	// fleetSeed is the seed of the fleets of all sizes.
	fleetSeed = 2
)

// hubRun is the state of the run of one size. Each step starts with the hubs as the previous step left them.
type hubRun struct {
	*hubPair
	options Options
	name    string
	// created are stored on both sides, spare are not stored yet.
	created, spare []*clusterv1beta1.Placement
	// clusters are the clusters as users stored them last, on both sides, in the order of the fleet.
	clusters []*clusterv1.ManagedCluster
}

// step is a part of a run. The names of its figures begin with its name.
type step struct {
	name    string
	measure func(context.Context, *hubRun) ([]bench.Figure, error)
}

// steps returns the steps in their order. Steps that need an unchanged hub come before changes.
func steps() []step {
	return []step{
		{"cold", measureCold},
		{"idle", measureIdle},
		{"beat", measureHeartbeats},
		{"churn", measureChurn},
		{"memory", measureMemory},
		{"restart", measureRestart},
	}
}

// sizeRun measures all steps on one pair of hubs, because storing the clusters takes longer than the measurements.
func sizeRun(clusters, placements int) Run {
	name := fmt.Sprintf("%dx%d", clusters, placements)
	return Run{
		Name: name,
		About: fmt.Sprintf("all that happens to a hub of %d clusters and %d placements, beside the same writes by plain clients", clusters,
			placements),
		Measure: func(ctx context.Context, s Options) ([]bench.Figure, error) {
			shape := generate.Shape{Clusters: clusters, Placements: placements + sparePlacements, ScoredPercent: scoredPercent, Seed: fleetSeed}
			t, err := newHubRun(ctx, s, name, shape)
			if err != nil {
				return nil, err
			}
			defer t.stop()
			return t.runSteps(ctx, steps())
		},
	}
}

// newHubRun starts the hubs of a run and stores the fleet without its placements.
func newHubRun(ctx context.Context, s Options, name string, shape generate.Shape) (*hubRun, error) {
	s.logf("%s: starting two hubs with %d clusters", name, shape.Clusters)
	p, err := newHubPair(ctx, s, shape)
	if err != nil {
		return nil, err
	}
	last := len(p.fleet.Placements) - sparePlacements
	out := &hubRun{hubPair: p, options: s, name: name, created: p.fleet.Placements[:last:last], spare: p.fleet.Placements[last:]}
	for _, cluster := range p.fleet.Clusters {
		out.clusters = append(out.clusters, cluster.DeepCopy())
	}
	return out, nil
}

func (h *hubRun) runSteps(ctx context.Context, steps []step) ([]bench.Figure, error) {
	var out []bench.Figure
	for _, step := range steps {
		h.logf("%s", step.name)
		figures, err := step.measure(ctx, h)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", step.name, err)
		}
		for _, figure := range figures {
			figure.Name = step.name + ": " + figure.Name
			out = append(out, figure)
			h.logf("  %s = %s (%s)", figure.Name, figure, figure.Detail)
		}
	}
	return out, nil
}

func (h *hubRun) logf(format string, args ...any) { h.options.logf(h.name+": "+format, args...) }

// takeSpares returns placements that are not stored yet, and counts them as created.
func (h *hubRun) takeSpares(count int) []*clusterv1beta1.Placement {
	out := h.spare[:count]
	h.spare, h.created = h.spare[count:], append(h.created, out...)
	return out
}
