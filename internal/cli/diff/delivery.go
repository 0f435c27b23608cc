package diff

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/internal/cli/change"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/cli/rollouts"
	"github.com/berth-project/berth/internal/source/file"
	"github.com/berth-project/berth/rollout"
	"github.com/berth-project/berth/rollout/simulation"
)

// deliveryDiff is what a change of sets and works touches on the clusters.
type deliveryDiff struct {
	Sets  []setDiff            `json:"sets,omitempty"`
	Works []*rollouts.WorkDiff `json:"works,omitempty"`
}

// setDiff is what a change of a set touches, and in which waves.
type setDiff struct {
	*rollouts.SetDiff

	Rollouts []*rollouts.Plan `json:"rollouts,omitempty"`
}

// wholeDiff is a diff of decisions with a diff of deliveries; each is absent where the change has no object of its kinds.
type wholeDiff struct {
	*change.Report
	*deliveryDiff
}

func (d *deliveryDiff) touched() bool {
	return slices.ContainsFunc(d.Sets, func(s setDiff) bool { return s.Touched() }) ||
		slices.ContainsFunc(d.Works, func(w *rollouts.WorkDiff) bool { return len(w.Objects) > 0 })
}

// deliveryDiff compares the sets and works of a change with what is stored, on the hub or in the files of --base. It sends no request to
// a member.
func (o *options) deliveryDiff(ctx context.Context, applied *file.Bundle, now time.Time) (*deliveryDiff, error) {
	if err := rollouts.Validate(applied.WorkSets, applied.Works); err != nil {
		return nil, err
	}
	stored, err := o.storedDeliveries(ctx)
	if err != nil {
		return nil, err
	}
	out := &deliveryDiff{}
	for _, set := range applied.WorkSets {
		before, err := stored.set(ctx, set)
		if err != nil {
			return nil, err
		}
		if before.WorksHidden {
			printer.Printf(o.Streams.ErrOut,
				"note: you may not list manifestworks: every cluster counts as having the stored template of the set %s/%s\n", set.Namespace, set.Name)
		}
		found, err := rollouts.DiffSet(before, set, now)
		if err != nil {
			return nil, err
		}
		out.Sets = append(out.Sets, setDiff{found, rolloutsOf(found, before, set, now)})
	}
	for _, work := range applied.Works {
		before, err := stored.work(ctx, client.ObjectKeyFromObject(work))
		if err != nil {
			return nil, err
		}
		found, err := rollouts.DiffWork(before, work)
		if err != nil {
			return nil, err
		}
		out.Works = append(out.Works, found)
	}
	return out, nil
}

// rolloutsOf returns the waves of each placement of a changed set, if all goes well.
func rolloutsOf(found *rollouts.SetDiff, before rollouts.Delivery, set *workv1alpha1.ManifestWorkReplicaSet,
	now time.Time,
) []*rollouts.Plan {
	if len(found.Versions) == 0 {
		return nil
	}
	var out []*rollouts.Plan
	for _, ref := range set.Spec.PlacementRefs {
		placement := before.Placements[ref.Name]
		if placement.Object == nil {
			continue
		}
		statuses, ruled := found.Statuses(ref.Name)
		groups := rollout.GroupsOf(placement.Decisions, placement.Object)
		for i := range groups.Groups {
			group := &groups.Groups[i]
			group.Clusters = slices.DeleteFunc(slices.Clone(group.Clusters), func(name string) bool { return !ruled[name] })
		}
		play := simulation.Run{Strategy: &ref.RolloutStrategy.RolloutStrategy, Groups: groups, Statuses: statuses, Start: now}
		out = append(out, rollouts.Waves(placement.Object, play))
	}
	return out
}

// storedDeliveries reads what is stored: from a bundle where there is one, else from a hub.
type storedDeliveries struct {
	bundle *file.Bundle
	hub    client.Client
}

func (o *options) storedDeliveries(ctx context.Context) (storedDeliveries, error) {
	if o.Offline() {
		bundle, err := o.load(ctx)
		return storedDeliveries{bundle: bundle}, err
	}
	hub, _, err := rollouts.Caller{Flags: o.HubFlags, ErrOut: o.Streams.ErrOut}.Connect("")
	return storedDeliveries{hub: hub}, err
}

// set returns a set as it is stored. A new one has no works.
func (s storedDeliveries) set(ctx context.Context, set *workv1alpha1.ManifestWorkReplicaSet) (rollouts.Delivery, error) {
	if s.bundle != nil {
		return rollouts.StoredIn(s.bundle, set), nil
	}
	out, err := rollouts.Read(ctx, s.hub, client.ObjectKeyFromObject(set))
	if apierrors.IsNotFound(err) {
		out, err = rollouts.ReadNew(ctx, s.hub, set)
	}
	if err == nil && len(set.Spec.Overrides) > 0 && out.Clusters == nil {
		err = out.ReadClusters(ctx, s.hub)
	}
	return out, err
}

// work returns a work as it is stored; nil for none.
func (s storedDeliveries) work(ctx context.Context, key client.ObjectKey) (*workv1.ManifestWork, error) {
	if s.bundle != nil {
		for _, work := range s.bundle.Works {
			if client.ObjectKeyFromObject(work) == key {
				return work, nil
			}
		}
		return nil, nil //nolint:nilnil // no work is a normal answer
	}
	out := &workv1.ManifestWork{}
	if err := s.hub.Get(ctx, key, out); apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // no work is a normal answer
	} else if err != nil {
		return nil, fmt.Errorf("reading the ManifestWork %s: %w", key, err)
	}
	return out, nil
}

// print writes what a change of sets and works touches.
func (d *deliveryDiff) print(w io.Writer, on printer.Screen) error {
	for i, set := range d.Sets {
		if i > 0 {
			printer.Printf(w, "\n")
		}
		if err := set.Print(w, on); err != nil {
			return err
		}
		for _, rollout := range set.Rollouts {
			printer.Printf(w, "  over ")
			if err := rollout.Print(w, on); err != nil {
				return err
			}
		}
	}
	for i, work := range d.Works {
		if i+len(d.Sets) > 0 {
			printer.Printf(w, "\n")
		}
		if err := work.Print(w, on); err != nil {
			return err
		}
	}
	return nil
}
