package scenario

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
	"github.com/berth-project/berth/internal/registration"
	"github.com/berth-project/berth/internal/source/live"
)

// The resources that a scenario is made of, in the versions that are read.
//
//nolint:gochecknoglobals // names of resources
var (
	// Clusters and Decisions are for those who watch.
	Clusters  = clusters
	Decisions = clusterv1beta1.GroupVersion.WithResource("placementdecisions")

	clusters   = clusterv1.GroupVersion.WithResource("managedclusters")
	sets       = clusterv1beta2.GroupVersion.WithResource("managedclustersets")
	bindings   = clusterv1beta2.GroupVersion.WithResource("managedclustersetbindings")
	scores     = clusterv1alpha1.GroupVersion.WithResource("addonplacementscores")
	placements = clusterv1beta1.GroupVersion.WithResource("placements")
)

// Fleet is what a hub holds at one instant, and what the engine makes of it. It is read-only.
type Fleet struct {
	// Clusters and Sets are by name.
	Clusters []*clusterv1.ManagedCluster
	Sets     []*clusterv1beta2.ManagedClusterSet
	// Placements are by namespace, then name.
	Placements []DecidedPlacement
}

// DecidedPlacement is a placement with what is stored for it.
type DecidedPlacement struct {
	Placement *clusterv1beta1.Placement
	Groups    []Group
	// Result is what the engine decides from the fleet as it is; its trace says why. It is nil where the placement is
	// none of Berth's business.
	Result *engine.Result

	pending plan.Plan
}

// Group is a decision group as any consumer reads it: off the labels and the status of the PlacementDecisions.
type Group struct {
	Index, Name string
	// Clusters are in the order of the slices.
	Clusters []string
}

// Key names the placement.
func (d DecidedPlacement) Key() fleet.Key {
	return fleet.Key{Namespace: d.Placement.Namespace, Name: d.Placement.Name}
}

// Selected returns the names of the clusters in all groups, by name.
func (d DecidedPlacement) Selected() []string {
	var out []string
	for _, group := range d.Groups {
		out = append(out, group.Clusters...)
	}
	slices.Sort(out)
	return out
}

// Condition returns a condition of the placement; the zero Condition where there is none of the type.
func (d DecidedPlacement) Condition(kind string) metav1.Condition {
	if found := meta.FindStatusCondition(d.Placement.Status.Conditions, kind); found != nil {
		return *found
	}
	return metav1.Condition{}
}

// List reads the hub and lets the engine decide every placement.
func (h *Hub) List(ctx context.Context) (*Fleet, error) {
	out := &Fleet{}
	var asked []*clusterv1beta1.Placement
	var stored []*clusterv1beta1.PlacementDecision
	var bound []*clusterv1beta2.ManagedClusterSetBinding
	var scored []*clusterv1alpha1.AddOnPlacementScore
	err := errors.Join(
		list(ctx, h.client, clusters, &out.Clusters), list(ctx, h.client, sets, &out.Sets), list(ctx, h.client, bindings, &bound),
		list(ctx, h.client, scores, &scored), list(ctx, h.client, placements, &asked), list(ctx, h.client, Decisions, &stored),
	)
	if err != nil {
		return nil, err
	}
	nobody := func(fleet.Key, explain.Cause) {}
	world := live.New(h.env, nobody, nobody)
	each(out.Clusters, world.SetCluster)
	each(out.Sets, func(set *clusterv1beta2.ManagedClusterSet) { world.SetSet(nil, set) })
	each(bound, world.SetBinding)
	each(scored, world.SetScore)
	each(asked, world.SetPlacement)
	each(stored, world.SetSlice)
	world.Ready()
	for _, placement := range asked {
		out.Placements = append(out.Placements, h.decide(world, placement))
	}
	return out, nil
}

// list reads every object of a resource, by namespace and name.
func list[T any](ctx context.Context, client dynamic.Interface, resource schema.GroupVersionResource, into *[]*T) error {
	found, err := client.Resource(resource).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing %s: %w", resource.Resource, err)
	}
	for _, item := range found.Items {
		typed := new(T)
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, typed); err != nil {
			return fmt.Errorf("reading %s: %w", title(&item), err)
		}
		*into = append(*into, typed)
	}
	return nil
}

func each[T any](objects []*T, do func(*T)) {
	for _, object := range objects {
		do(object)
	}
}

// decide runs the engine on one placement, as the manager does, and keeps what it would write.
func (h *Hub) decide(world *live.State, placement *clusterv1beta1.Placement) DecidedPlacement {
	out := DecidedPlacement{Placement: placement}
	now := h.clock.Now()
	c, ours := world.Gather(out.Key(), now)
	if !ours {
		return out
	}
	out.Groups = groups(c.Stored.Slices)
	out.Result = engine.Decide(c.Snapshot, out.Key(), c.Program, c.Faults, plan.ReadLedger(c.Stored.Placement))
	out.pending = plan.Diff(out.Result, c.Stored, now)
	return out
}

func groups(stored []*clusterv1beta1.PlacementDecision) []Group {
	ordered := slices.SortedFunc(slices.Values(stored), func(a, b *clusterv1beta1.PlacementDecision) int {
		_, first, _ := plan.Owner(a)
		_, second, _ := plan.Owner(b)
		return cmp.Compare(first, second)
	})
	var out []Group
	for _, slice := range ordered {
		group := Group{Index: slice.Labels[clusterv1beta1.DecisionGroupIndexLabel], Name: slice.Labels[clusterv1beta1.DecisionGroupNameLabel]}
		at := slices.IndexFunc(out, func(g Group) bool { return g.Index == group.Index })
		if at < 0 {
			at, out = len(out), append(out, group)
		}
		out[at].Clusters = append(out[at].Clusters, plan.Clusters(slice)...)
	}
	slices.SortStableFunc(out, func(a, b Group) int {
		return cmp.Or(cmp.Compare(len(a.Index), len(b.Index)), cmp.Compare(a.Index, b.Index))
	})
	return out
}

// checkDecided names the first simulated cluster that is not available yet, or the first placement that Berth still has
// something to write for.
func (f *Fleet) checkDecided() error {
	for _, cluster := range f.Clusters {
		if registration.SimulationRequested(cluster) && registration.Condition(cluster, clusterv1.ManagedClusterConditionAvailable) == nil {
			return fmt.Errorf("cluster %s: it is to be simulated, and nothing is reported of it", cluster.Name)
		}
	}
	for _, placement := range f.Placements {
		if !placement.pending.Empty() {
			return fmt.Errorf("placement %s: the engine would still write %d objects", placement.Key(), len(placement.pending.Writes))
		}
	}
	return nil
}

// WithTaint returns what every placement would select if a cluster had a further taint, by placement. Nothing is stored.
func (f *Fleet) WithTaint(cluster *clusterv1.ManagedCluster, taint clusterv1.Taint) map[fleet.Key][]string {
	tainted := cluster.DeepCopy()
	tainted.Spec.Taints = append(tainted.Spec.Taints, taint)
	out := map[fleet.Key][]string{}
	for _, placement := range f.Placements {
		if placement.Result == nil || placement.Result.Trace.Program == nil {
			continue
		}
		edit := placement.Result.Trace.Snapshot.Edit()
		edit.SetCluster(fleet.NewCluster(tainted))
		what := engine.Schedule(edit.Snapshot().At(placement.Result.Trace.Snapshot.Now), placement.Result.Trace.Program, plan.ReadLedger(placement.Placement))
		out[placement.Key()] = slices.Sorted(slices.Values(what.Clusters()))
	}
	return out
}
