package scenario

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/berth-project/berth/engine/celenv"
)

const (
	fieldManager = "berth-examples"
	pollInterval = 20 * time.Millisecond
	// decideTimeout is far more than Berth needs for a handful of placements.
	decideTimeout = 30 * time.Second
)

// Hub is a hub with Berth's manager, as an administrator sees it.
type Hub struct {
	client dynamic.Interface
	clock  clock.PassiveClock
	env    *celenv.Env
}

// Connect returns the hub that a client configuration names.
func Connect(config *rest.Config, clock clock.PassiveClock) (*Hub, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("creating a client: %w", err)
	}
	env, err := celenv.New()
	if err != nil {
		return nil, err
	}
	return &Hub{client: client, clock: clock, env: env}, nil
}

// Client returns the client for whatever a scenario does not hold.
func (h *Hub) Client() dynamic.Interface { return h.client }

// Apply stores the objects of a step. After each placement it waits until Berth has decided, so that the decisions do
// not depend on which of two placements came first; at the end it waits once more.
func (h *Hub) Apply(ctx context.Context, step Step) error {
	for _, object := range step.Objects {
		if err := h.apply(ctx, object); err != nil {
			return err
		}
		if object.GetKind() != placementKind {
			continue
		}
		if _, err := h.WaitUntilDecided(ctx); err != nil {
			return err
		}
	}
	_, err := h.WaitUntilDecided(ctx)
	return err
}

// apply stores an object as it is in the manifest, and then its status.
func (h *Hub) apply(ctx context.Context, object *unstructured.Unstructured) error {
	gvk := object.GroupVersionKind()
	plural, _ := meta.UnsafeGuessKindToResource(gvk)
	client := h.client.Resource(plural).Namespace(object.GetNamespace())
	options := metav1.ApplyOptions{FieldManager: fieldManager, Force: true}
	if _, err := client.Apply(ctx, object.GetName(), object, options); err != nil {
		return fmt.Errorf("applying %s: %w", title(object), err)
	}
	if _, reports := object.Object["status"]; !reports {
		return nil
	}
	if _, err := client.ApplyStatus(ctx, object.GetName(), object, options); err != nil {
		return fmt.Errorf("applying the status of %s: %w", title(object), err)
	}
	return nil
}

func title(object *unstructured.Unstructured) string {
	if namespace := object.GetNamespace(); namespace != "" {
		return fmt.Sprintf("%s %s/%s", object.GetKind(), namespace, object.GetName())
	}
	return object.GetKind() + " " + object.GetName()
}

// WaitUntilDecided waits until there is nothing left to decide and returns what the hub then holds.
func (h *Hub) WaitUntilDecided(ctx context.Context) (*Fleet, error) {
	var fleet *Fleet
	var pending error
	err := wait.PollUntilContextTimeout(ctx, pollInterval, decideTimeout, true, func(ctx context.Context) (bool, error) {
		var err error
		if fleet, err = h.List(ctx); err != nil {
			return false, err
		}
		pending = fleet.checkDecided()
		return pending == nil, nil
	})
	switch {
	case err == nil:
		return fleet, nil
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		return nil, fmt.Errorf("waiting for Berth to decide: not within %s: %w", decideTimeout, pending)
	default:
		return nil, fmt.Errorf("waiting for Berth to decide: %w", err)
	}
}

// DeleteAll deletes everything that a scenario stores except namespaces, and waits until Berth's decisions are gone.
func (h *Hub) DeleteAll(ctx context.Context) error {
	for _, resource := range []schema.GroupVersionResource{placements, bindings, sets, clusters, scores} {
		list, err := h.client.Resource(resource).List(ctx, metav1.ListOptions{})
		if err != nil {
			return fmt.Errorf("listing %s: %w", resource.Resource, err)
		}
		for _, object := range list.Items {
			client := h.client.Resource(resource).Namespace(object.GetNamespace())
			if err := client.Delete(ctx, object.GetName(), metav1.DeleteOptions{}); err != nil {
				return fmt.Errorf("deleting %s: %w", title(&object), err)
			}
		}
	}
	err := wait.PollUntilContextTimeout(ctx, pollInterval, decideTimeout, true, func(ctx context.Context) (bool, error) {
		list, err := h.client.Resource(Decisions).List(ctx, metav1.ListOptions{})
		return err == nil && len(list.Items) == 0, err
	})
	if err != nil {
		return fmt.Errorf("waiting for the decisions to go: %w", err)
	}
	return nil
}
