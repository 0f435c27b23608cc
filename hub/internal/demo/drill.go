package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/engine/program"
	"github.com/berth-project/berth/engine/verdict"
	"github.com/berth-project/berth/hub/internal/scenario"
)

// firstMove is how long the drill waits for the first decision to move before it asks whether any will.
const firstMove = 500 * time.Millisecond

// taint is what the drill puts on a cluster.
func taint() clusterv1.Taint {
	return clusterv1.Taint{Key: "example.com/maintenance", Effect: clusterv1.TaintEffectNoSelect}
}

// drill takes a cluster away and gives it back.
type drill struct {
	hub   *scenario.Hub
	clock clock.Clock
	page  *page
}

func (d *drill) run(ctx context.Context, before *scenario.Fleet) error {
	cluster := busiest(before)
	if cluster == nil {
		d.page.heading("MAINTENANCE", "No selected cluster can be missed, so none is taken away.")
		return nil
	}
	mark := taint()
	d.page.heading("MAINTENANCE", fmt.Sprintf("%s gets the taint %s:%s.", cluster.Name, mark.Key, mark.Effect))
	without, err := d.change(ctx, before, cluster, append(slices.Clone(cluster.Spec.Taints), mark))
	if err != nil {
		return err
	}
	d.page.heading("BACK", "The taint is removed.")
	if _, err := d.change(ctx, without, cluster, cluster.Spec.Taints); err != nil {
		return err
	}
	d.page.line("")
	d.page.line("Times are from the API call to the watch event of the stored decision.")
	return nil
}

// busiest returns the cluster whose absence moves most decisions elsewhere, the first by name of several. The engine
// knows without trying. It is nil where no decision would leave a cluster.
func busiest(f *scenario.Fleet) *clusterv1.ManagedCluster {
	var out *clusterv1.ManagedCluster
	most := 0
	for _, cluster := range f.Clusters {
		without := f.WithTaint(cluster, taint())
		count := 0
		for _, placement := range f.Placements {
			now, then := placement.Selected(), without[placement.Key()]
			if !slices.Contains(now, cluster.Name) || slices.Contains(then, cluster.Name) {
				continue
			}
			count += 2
			if len(then) == len(now) { // somebody takes its place
				count++
			}
		}
		if count > most {
			out, most = cluster, count
		}
	}
	return out
}

// change stores other taints on a cluster, waits until all is decided, and prints what moved.
func (d *drill) change(
	ctx context.Context, before *scenario.Fleet, cluster *clusterv1.ManagedCluster, taints []clusterv1.Taint,
) (*scenario.Fleet, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	moves, err := follow(ctx, d.hub, d.clock)
	if err != nil {
		return nil, err
	}
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"taints": taints}})
	if err != nil {
		return nil, fmt.Errorf("encoding the taints: %w", err)
	}
	asked := d.clock.Now()
	client := d.hub.Client().Resource(scenario.Clusters)
	if _, err := client.Patch(ctx, cluster.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return nil, fmt.Errorf("changing the taints of %s: %w", cluster.Name, err)
	}
	moves.first(d.clock.After(firstMove))
	after, err := d.hub.WaitUntilDecided(ctx)
	if err != nil {
		return nil, err
	}
	for i, placement := range after.Placements {
		at, err := moves.until(ctx, placement)
		if err != nil {
			return nil, err
		}
		d.report(cluster.Name, before.Placements[i], placement, at.Sub(asked))
	}
	return after, nil
}

// report prints what became of a placement when a cluster changed.
func (d *drill) report(cluster string, before, after scenario.DecidedPlacement, took time.Duration) {
	gone, come := minus(before.Selected(), after.Selected()), minus(after.Selected(), before.Selected())
	name := after.Key().String()
	if len(gone)+len(come) == 0 {
		d.page.field(faint, name, unmoved(cluster, after))
		return
	}
	var parts []string
	if len(gone) > 0 {
		parts = append(parts, strings.Join(gone, ", ")+" leaves")
	}
	if len(come) > 0 {
		parts = append(parts, strings.Join(come, ", ")+" comes")
	}
	d.page.field(green, name, fmt.Sprintf("%s, after %s", strings.Join(parts, ", "), rounded(took)))
}

// unmoved says why a change of a cluster moved nothing.
func unmoved(cluster string, after scenario.DecidedPlacement) string {
	if after.Result == nil {
		return "stays as it is"
	}
	trace := after.Result.Trace
	id, known := trace.Snapshot.ID(cluster)
	if !known {
		return "stays as it is"
	}
	v := trace.Verdict(id)
	switch {
	case v.Code == verdict.Selected && len(trace.Snapshot.Cluster(id).Object.Spec.Taints) > 0:
		return "keeps " + cluster + ", as it tolerates the taint"
	case v.Code.IsSelected():
		return "keeps " + cluster
	case v.Code == verdict.Outranked && trace.Program.HasPrioritizer(program.Steady):
		return "keeps what it has (Steady); " + cluster + ": " + why(v)
	default:
		return "stays as it is; " + cluster + ": " + why(v)
	}
}

func minus(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(name string) bool { return slices.Contains(b, name) })
}
