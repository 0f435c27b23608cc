package demo

import (
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/hub/internal/scenario"
)

// backlog is how many events may come in while nobody looks.
const backlog = 1024

// moves follows the stored decisions by a watch and remembers when those of each placement last changed.
type moves struct {
	events chan moved
	// slices has the clusters of each slice, by placement and name.
	slices map[fleet.Key]map[string][]string
	last   map[fleet.Key]time.Time
}

// moved is a slice as a watch showed it, and when.
type moved struct {
	owner    fleet.Key
	slice    string
	clusters []string
	at       time.Time
}

// follow starts a watch, which ends with the context. What is stored by now counts as no move.
func follow(ctx context.Context, hub *scenario.Hub, clock clock.PassiveClock) (*moves, error) {
	client := hub.Client().Resource(scenario.Decisions)
	stored, err := client.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing decisions: %w", err)
	}
	m := &moves{events: make(chan moved, backlog), slices: map[fleet.Key]map[string][]string{}, last: map[fleet.Key]time.Time{}}
	for _, slice := range stored.Items {
		m.take(read(&slice, time.Time{}))
	}
	watching, err := client.Watch(ctx, metav1.ListOptions{ResourceVersion: stored.GetResourceVersion()})
	if err != nil {
		return nil, fmt.Errorf("watching decisions: %w", err)
	}
	go func() {
		defer watching.Stop()
		defer close(m.events)
		for event := range watching.ResultChan() {
			slice, ok := event.Object.(*unstructured.Unstructured)
			if !ok {
				return
			}
			seen := read(slice, clock.Now())
			if event.Type == watch.Deleted {
				seen.clusters = nil
			}
			select {
			case m.events <- seen:
			case <-ctx.Done():
				return
			}
		}
	}()
	return m, nil
}

func read(slice *unstructured.Unstructured, at time.Time) moved {
	out := moved{
		owner: fleet.Key{Namespace: slice.GetNamespace(), Name: slice.GetLabels()[clusterv1beta1.PlacementLabel]},
		slice: slice.GetName(), at: at,
	}
	decisions, _, _ := unstructured.NestedSlice(slice.Object, "status", "decisions")
	for _, entry := range decisions {
		decision, _ := entry.(map[string]any)
		name, _ := decision["clusterName"].(string)
		out.clusters = append(out.clusters, name)
	}
	return out
}

func (m *moves) take(seen moved) {
	if m.slices[seen.owner] == nil {
		m.slices[seen.owner] = map[string][]string{}
	}
	if slices.Equal(m.slices[seen.owner][seen.slice], seen.clusters) {
		return
	}
	m.slices[seen.owner][seen.slice] = seen.clusters
	m.last[seen.owner] = seen.at
}

// first waits for the first move, or until the time is up.
func (m *moves) first(timeUp <-chan time.Time) {
	select {
	case seen, open := <-m.events:
		if open {
			m.take(seen)
		}
	case <-timeUp:
	}
}

// until waits until the watch has shown the decisions of a placement as they are stored, and returns when they last
// changed.
func (m *moves) until(ctx context.Context, placement scenario.DecidedPlacement) (time.Time, error) {
	want := placement.Selected()
	for !slices.Equal(m.selected(placement.Key()), want) {
		select {
		case seen, open := <-m.events:
			if !open {
				return time.Time{}, fmt.Errorf("following the decisions of %s: the watch ended", placement.Key())
			}
			m.take(seen)
		case <-ctx.Done():
			return time.Time{}, fmt.Errorf("following the decisions of %s: %w", placement.Key(), ctx.Err())
		}
	}
	return m.last[placement.Key()], nil
}

func (m *moves) selected(key fleet.Key) []string {
	var out []string
	for _, clusters := range m.slices[key] {
		out = append(out, clusters...)
	}
	slices.Sort(out)
	return out
}
