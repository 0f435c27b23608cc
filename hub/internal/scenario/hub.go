package scenario

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
)

const (
	fieldManager = "berth-examples"
	pollInterval = 20 * time.Millisecond
	// decideTimeout is far longer than Berth needs for a few placements.
	decideTimeout = 30 * time.Second
)

// Hub is a client of a hub with Berth's manager, for an administrator.
type Hub struct {
	client dynamic.Interface
	clock  clock.PassiveClock
}

// Connect returns the hub that a client configuration names.
func Connect(config *rest.Config, clock clock.PassiveClock) (*Hub, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("creating a client: %w", err)
	}
	return &Hub{client: client, clock: clock}, nil
}

// Client returns the client of the hub.
func (h *Hub) Client() dynamic.Interface { return h.client }

// Apply stores the objects of a step. After each placement and at the end it waits until Berth has decided, so that the
// decisions do not depend on timing.
func (h *Hub) Apply(ctx context.Context, step Step) error {
	for _, object := range step.Objects {
		if err := h.apply(ctx, object); err != nil {
			return err
		}
		if object.GetKind() != placementKind {
			continue
		}
		if err := h.WaitUntilDecided(ctx); err != nil {
			return err
		}
	}
	return h.WaitUntilDecided(ctx)
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

// WaitUntilDecided waits until Berth has written every decision.
func (h *Hub) WaitUntilDecided(ctx context.Context) error {
	pending := ""
	err := wait.PollUntilContextTimeout(ctx, pollInterval, decideTimeout, true, func(ctx context.Context) (bool, error) {
		var err error
		pending, err = h.undecided(ctx)
		return pending == "", err
	})
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		return fmt.Errorf("waiting for Berth to decide: not within %s: %s", decideTimeout, pending)
	default:
		return fmt.Errorf("waiting for Berth to decide: %w", err)
	}
}
