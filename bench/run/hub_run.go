package run

import (
	"context"
	"fmt"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/bench"
	"github.com/berth-project/berth/internal/generate"
)

const (
	// scoredPercent of the placements rank clusters by a score of an add-on.
	scoredPercent = 10
	// sparePlacements are placements that are drawn and stored one by one.
	sparePlacements = singlePlacements + 2*probes
	// fleetSeed is where the fleets of all stories follow from.
	fleetSeed = 2
)

// hubRun is what a story has come to. Each step finds the hubs as the one before has left them.
type hubRun struct {
	*hubPair
	options Options
	name    string
	// created are stored on both sides, spare are not yet.
	created, spare []*clusterv1beta1.Placement
	// clusters are as users have stored them last, on both sides, in the order of the fleet.
	clusters []*clusterv1.ManagedCluster
}

// step is a part of a story. The names of its figures begin with its own.
type step struct {
	name    string
	measure func(context.Context, *hubRun) ([]bench.Figure, error)
}

// steps are told in this order: what follows a change comes after what asks for a hub that nobody has touched.
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

// sizeRun measures everything on one pair of hubs of a size: storing their clusters takes longer than measuring.
func sizeRun(clusters, placements int) Run {
	name := fmt.Sprintf("%dx%d", clusters, placements)
	return Run{
		Name:  name,
		About: fmt.Sprintf("all that happens to a hub of %d clusters and %d placements, beside the same writes by plain clients", clusters, placements),
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

// newHubRun starts the hubs of a story and stores all of a fleet but its placements.
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

func (t *hubRun) runSteps(ctx context.Context, steps []step) ([]bench.Figure, error) {
	var out []bench.Figure
	for _, step := range steps {
		t.logf("%s", step.name)
		figures, err := step.measure(ctx, t)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", step.name, err)
		}
		for _, figure := range figures {
			figure.Name = step.name + ": " + figure.Name
			out = append(out, figure)
			t.logf("  %s = %s (%s)", figure.Name, figure, figure.Detail)
		}
	}
	return out, nil
}

func (t *hubRun) logf(format string, args ...any) { t.options.logf(t.name+": "+format, args...) }

// takeSpares returns placements that are not stored yet, and counts them among those that are.
func (t *hubRun) takeSpares(count int) []*clusterv1beta1.Placement {
	out := t.spare[:count]
	t.spare, t.created = t.spare[count:], append(t.created, out...)
	return out
}
