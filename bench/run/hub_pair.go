package run

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/bench/hub"
	"github.com/berth-project/berth/internal/cli/generate"
)

const (
	// idlePeriod is how long an idle hub has no write.
	idlePeriod = 2 * time.Second
	// idleTimeout is far longer than a manager needs for ten thousand new clusters.
	idleTimeout = 20 * time.Minute
)

// hubPair is a hub with a manager and a hub without, both with the same fleet.
type hubPair struct {
	managed, open *measuredHub
	fleet         *generate.Fleet
}

func newHubPair(ctx context.Context, s Options, shape generate.Shape) (*hubPair, error) {
	out := &hubPair{fleet: generate.New(shape)}
	var err error
	if out.managed, err = newMeasuredHub(ctx, s, out.fleet, true); err != nil {
		return nil, err
	}
	if out.open, err = newMeasuredHub(ctx, s, out.fleet, false); err != nil {
		out.managed.stop()
		return nil, err
	}
	if err := errors.Join(out.managed.awaitIdle(ctx), out.open.awaitIdle(ctx)); err != nil {
		out.stop()
		return nil, err
	}
	return out, nil
}

func (p *hubPair) stop() {
	p.managed.stop()
	p.open.stop()
}

// awaitIdle waits until the hub has stored nothing and decided nothing for a while.
func (m *measuredHub) awaitIdle(ctx context.Context) error {
	var last float64
	err := wait.PollUntilContextTimeout(ctx, idlePeriod, idleTimeout, true, func(ctx context.Context) (bool, error) {
		answered, err := m.hub.Requests(ctx)
		if err != nil {
			return false, err
		}
		before := last
		if _, last = answered.Writes(); m.manager != nil && m.manager.Running() {
			metrics, err := m.manager.Metrics(ctx)
			if err != nil {
				return false, err
			}
			last += metrics.Sum(evaluated)
		}
		return last == before, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for the hub to be idle: %w", err)
	}
	return nil
}

// storedDecision contains the stored objects of one placement.
type storedDecision struct {
	placement *clusterv1beta1.Placement
	slices    []clusterv1beta1.PlacementDecision
	// events are the events of the placement. They are read for many placements only.
	events []eventsv1.Event
}

// decisions reads the stored decisions of some placements.
func (m *measuredHub) decisions(ctx context.Context, of []*clusterv1beta1.Placement) ([]storedDecision, error) {
	var placements clusterv1beta1.PlacementList
	var stored clusterv1beta1.PlacementDecisionList
	var events eventsv1.EventList
	if err := errors.Join(m.admin.List(ctx, &placements), m.admin.List(ctx, &stored), m.admin.List(ctx, &events)); err != nil {
		return nil, fmt.Errorf("reading decisions: %w", err)
	}
	byName := map[types.NamespacedName]*storedDecision{}
	for i := range placements.Items {
		byName[client.ObjectKeyFromObject(&placements.Items[i])] = &storedDecision{placement: &placements.Items[i]}
	}
	for _, slice := range stored.Items {
		owner := types.NamespacedName{Namespace: slice.Namespace, Name: slice.Labels[clusterv1beta1.PlacementLabel]}
		if byName[owner] != nil {
			byName[owner].slices = append(byName[owner].slices, slice)
		}
	}
	for _, event := range events.Items {
		about := types.NamespacedName{Namespace: event.Regarding.Namespace, Name: event.Regarding.Name}
		if byName[about] != nil && event.Regarding.Kind == "Placement" {
			byName[about].events = append(byName[about].events, event)
		}
	}
	out := make([]storedDecision, 0, len(of))
	for _, placement := range of {
		out = append(out, *byName[client.ObjectKeyFromObject(placement)])
	}
	return out, nil
}

// decision reads the stored decision of one placement.
func (m *measuredHub) decision(ctx context.Context, of *clusterv1beta1.Placement) (storedDecision, error) {
	placement, stored := &clusterv1beta1.Placement{}, clusterv1beta1.PlacementDecisionList{}
	err := errors.Join(
		m.admin.Get(ctx, client.ObjectKeyFromObject(of), placement),
		m.admin.List(ctx, &stored, client.InNamespace(of.Namespace), client.MatchingLabels{clusterv1beta1.PlacementLabel: of.Name}),
	)
	if err != nil {
		return storedDecision{}, fmt.Errorf("reading a decision: %w", err)
	}
	return storedDecision{placement: placement, slices: stored.Items}, nil
}

// createPlacement stores the placement of a decision, as its user does, and returns it.
func (d storedDecision) createPlacement(ctx context.Context, to client.Client) (*clusterv1beta1.Placement, error) {
	out := &clusterv1beta1.Placement{
		ObjectMeta: metav1.ObjectMeta{Namespace: d.placement.Namespace, Name: d.placement.Name},
		Spec:       d.placement.Spec,
	}
	if err := to.Create(ctx, out); err != nil {
		return nil, fmt.Errorf("storing a placement: %w", err)
	}
	return out, nil
}

// copyDecision stores the rest of a decision, as a manager does. It stores each slice without the label of its placement, and
// the content of the slices. Then it stores the labels and the status of the placement.
func (d storedDecision) copyDecision(ctx context.Context, to client.Client, created *clusterv1beta1.Placement) error {
	stored := make([]*clusterv1beta1.PlacementDecision, 0, len(d.slices))
	for _, slice := range d.slices {
		copied := &clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{
			Namespace: slice.Namespace, Name: slice.Name, Labels: maps.Clone(slice.Labels), Annotations: slice.Annotations,
			OwnerReferences: slices.Clone(slice.OwnerReferences),
		}}
		delete(copied.Labels, clusterv1beta1.PlacementLabel)
		for i := range copied.OwnerReferences {
			copied.OwnerReferences[i].UID = created.UID
		}
		if err := to.Create(ctx, copied); err != nil {
			return fmt.Errorf("storing a slice: %w", err)
		}
		copied.Status = slice.Status
		if err := to.Status().Update(ctx, copied); err != nil {
			return fmt.Errorf("filling a slice: %w", err)
		}
		stored = append(stored, copied)
	}
	for _, slice := range stored {
		before := slice.DeepCopy()
		metav1.SetMetaDataLabel(&slice.ObjectMeta, clusterv1beta1.PlacementLabel, created.Name)
		if err := to.Patch(ctx, slice, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
			return fmt.Errorf("labelling a slice: %w", err)
		}
	}
	created.Status = d.placement.Status
	if err := to.Status().Update(ctx, created); err != nil {
		return fmt.Errorf("reporting on a placement: %w", err)
	}
	return nil
}

// copyEvents stores the events of a decision.
func (d storedDecision) copyEvents(ctx context.Context, to client.Client) error {
	for i := range d.events {
		event := d.events[i].DeepCopy()
		event.ObjectMeta = metav1.ObjectMeta{Namespace: event.Namespace, Name: event.Name}
		if err := to.Create(ctx, event); err != nil {
			return fmt.Errorf("storing an event: %w", err)
		}
	}
	return nil
}

// clients returns clientCount clients, each with its own connection, because one connection limits its streams.
func (m *measuredHub) clients() ([]client.Client, error) {
	out := make([]client.Client, 0, clientCount)
	for range clientCount {
		config := m.hub.AdminConfig()
		config.Dial = new(net.Dialer).DialContext
		made, err := hub.Client(config)
		if err != nil {
			return nil, err
		}
		out = append(out, made)
	}
	return out, nil
}
