package migrate

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// Verb is what a step does to its object.
type Verb string

// The verbs of steps.
const (
	// Update stores the object with a change. A change of another client since the plan is a conflict.
	Update Verb = "update"
	// Create creates the object.
	Create Verb = "create"
	// StoreAgain stores every object of a definition in its present version.
	StoreAgain Verb = "store again"
)

// Step is one change of a hub.
type Step struct {
	Verb Verb
	// What it is about, and how it is converted.
	Object, Change string

	resource schema.GroupVersionResource
	object   *unstructured.Unstructured
}

// String returns the step for a user.
func (s Step) String() string { return fmt.Sprintf("%s %s: %s", s.Verb, s.Object, s.Change) }

// Apply executes one step.
func Apply(ctx context.Context, hub dynamic.Interface, step Step) error {
	to := hub.Resource(step.resource).Namespace(step.object.GetNamespace())
	var err error
	switch step.Verb {
	case Update:
		_, err = to.Update(ctx, step.object, metav1.UpdateOptions{})
	case Create:
		_, err = to.Create(ctx, step.object, metav1.CreateOptions{})
	case StoreAgain:
		err = storeAgain(ctx, hub, step)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", step, err)
	}
	return nil
}

// storeAgain writes every object of a definition without a change, which stores it in the present version. Then no other version is
// recorded as stored.
func storeAgain(ctx context.Context, hub dynamic.Interface, step Step) error {
	stored := hub.Resource(step.resource)
	err := eachItem(ctx, stored, func(object *unstructured.Unstructured) error {
		_, err := stored.Namespace(object.GetNamespace()).Update(ctx, object, metav1.UpdateOptions{})
		if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			return nil // it is gone, or another client has stored it
		}
		if err != nil {
			return fmt.Errorf("%s/%s: %w", object.GetNamespace(), object.GetName(), err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	definition := step.object.DeepCopy()
	if err := unstructured.SetNestedStringSlice(definition.Object, []string{step.resource.Version}, "status", "storedVersions"); err != nil {
		return err //nolint:wrapcheck // the caller names the step
	}
	_, err = hub.Resource(definitions).UpdateStatus(ctx, definition, metav1.UpdateOptions{})
	return err //nolint:wrapcheck // the caller names the step
}

// eachItem reads all objects of a resource page by page.
func eachItem(ctx context.Context, from dynamic.ResourceInterface, visit func(*unstructured.Unstructured) error) error {
	options := metav1.ListOptions{Limit: pageSize}
	for {
		page, err := from.List(ctx, options)
		if err != nil {
			return err //nolint:wrapcheck // the caller names the resource
		}
		for i := range page.Items {
			if err := visit(&page.Items[i]); err != nil {
				return err
			}
		}
		if options.Continue = page.GetContinue(); options.Continue == "" {
			return nil
		}
	}
}
