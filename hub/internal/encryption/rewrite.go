package encryption

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// pageSize bounds the objects that a rewrite holds in memory.
const pageSize = 100

// Rewrite stores anew all objects whose encryption changed with the choices, which were configured. The API server writes an object that
// did not change if its encryption is another one.
func Rewrite(ctx context.Context, client dynamic.Interface, folder string, choices []string) error {
	s, err := readState(folder)
	if err != nil {
		return err
	}
	for _, choice := range all() {
		if s.of(choice) != mixed {
			continue
		}
		for _, resource := range resources()[choice] {
			if err := rewriteAll(ctx, client, resource); err != nil {
				return fmt.Errorf("writing all %s anew, to change their encryption: %w", resource.Resource, err)
			}
		}
		s[choice] = wanted(choices, choice)
		if err := s.write(folder); err != nil {
			return err
		}
	}
	return nil
}

// rewriteAll updates every object of a resource with itself. An object that is changed or deleted meanwhile is written or gone.
func rewriteAll(ctx context.Context, client dynamic.Interface, resource schema.GroupVersionResource) error {
	next := ""
	for {
		page, err := client.Resource(resource).List(ctx, metav1.ListOptions{Limit: pageSize, Continue: next})
		if apierrors.IsNotFound(err) { // the hub does not serve the resource
			return nil
		}
		if err != nil {
			return err //nolint:wrapcheck // the caller wraps it
		}
		for i := range page.Items {
			if err := rewrite(ctx, client.Resource(resource), &page.Items[i]); err != nil {
				return err
			}
		}
		if next = page.GetContinue(); next == "" {
			return nil
		}
	}
}

func rewrite(ctx context.Context, client dynamic.NamespaceableResourceInterface, object *unstructured.Unstructured) error {
	_, err := client.Namespace(object.GetNamespace()).Update(ctx, object, metav1.UpdateOptions{})
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil
	}
	return err //nolint:wrapcheck // the caller wraps it
}
