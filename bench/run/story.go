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
	// spares are placements that are drawn and stored one by one.
	spares = singles + 2*probes
	// storySeed is where the fleets of all stories follow from.
	storySeed = 2
)

// tale is what a story has come to. Each step finds the hubs as the one before has left them.
type tale struct {
	*pair
	setting Setting
	name    string
	// placed are stored on both sides, spare are not yet.
	placed, spare []*clusterv1beta1.Placement
	// clusters are as users have stored them last, on both sides, in the order of the fleet.
	clusters []*clusterv1.ManagedCluster
}

// step is a part of a story. The names of its figures begin with its own.
type step struct {
	name    string
	measure func(context.Context, *tale) ([]bench.Figure, error)
}

// steps are told in this order: what follows a change comes after what asks for a hub that nobody has touched.
func steps() []step {
	return []step{
		{"cold", measureCold},
		{"idle", measureIdle},
		{"beat", measureBeat},
		{"churn", measureChurn},
		{"memory", measureMemory},
		{"restart", measureRestart},
	}
}

// story measures everything on one pair of hubs of a size: storing their clusters takes longer than measuring.
func story(clusters, placements int) Run {
	name := fmt.Sprintf("%dx%d", clusters, placements)
	return Run{
		Name:  name,
		About: fmt.Sprintf("all that happens to a hub of %d clusters and %d placements, beside the same writes by plain clients", clusters, placements),
		Measure: func(ctx context.Context, s Setting) ([]bench.Figure, error) {
			shape := generate.Shape{Clusters: clusters, Placements: placements + spares, Scored: scoredPercent, Seed: storySeed}
			t, err := begin(ctx, s, name, shape)
			if err != nil {
				return nil, err
			}
			defer t.stop()
			return t.tell(ctx, steps())
		},
	}
}

// begin starts the hubs of a story and stores all of a fleet but its placements.
func begin(ctx context.Context, s Setting, name string, shape generate.Shape) (*tale, error) {
	s.say("%s: starting two hubs with %d clusters", name, shape.Clusters)
	p, err := newPair(ctx, s, shape)
	if err != nil {
		return nil, err
	}
	last := len(p.fleet.Placements) - spares
	out := &tale{pair: p, setting: s, name: name, placed: p.fleet.Placements[:last:last], spare: p.fleet.Placements[last:]}
	for _, cluster := range p.fleet.Clusters {
		out.clusters = append(out.clusters, cluster.DeepCopy())
	}
	return out, nil
}

func (t *tale) tell(ctx context.Context, steps []step) ([]bench.Figure, error) {
	var out []bench.Figure
	for _, step := range steps {
		t.say("%s", step.name)
		figures, err := step.measure(ctx, t)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", step.name, err)
		}
		for _, figure := range figures {
			figure.Name = step.name + ": " + figure.Name
			out = append(out, figure)
			t.say("  %s = %s (%s)", figure.Name, figure, figure.From)
		}
	}
	return out, nil
}

func (t *tale) say(format string, args ...any) { t.setting.say(t.name+": "+format, args...) }

// take returns placements that are not stored yet, and counts them among those that are.
func (t *tale) take(count int) []*clusterv1beta1.Placement {
	out := t.spare[:count]
	t.spare, t.placed = t.spare[count:], append(t.placed, out...)
	return out
}
