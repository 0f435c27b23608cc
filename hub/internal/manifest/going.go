package manifest

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// Going returns the names of the definitions in the set that are missing or being deleted.
func (b Bundle) Going(ctx context.Context, config *rest.Config) ([]string, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("creating a client: %w", err)
	}
	var out []string
	for _, definition := range b.definitions {
		found, err := client.Resource(definitionResource()).Get(ctx, definition.GetName(), metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err) || err == nil && found.GetDeletionTimestamp() != nil:
			out = append(out, definition.GetName())
		case err != nil:
			return nil, fmt.Errorf("reading %s: %w", definition, err)
		}
	}
	return out, nil
}

// InstallMissing applies the definitions in the set that are missing. It does not wait until they are served.
func (b Bundle) InstallMissing(ctx context.Context, config *rest.Config) error {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("creating a client: %w", err)
	}
	i := &installer{client: client}
	for _, definition := range b.definitions {
		_, err := client.Resource(definitionResource()).Get(ctx, definition.GetName(), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			err = i.apply(ctx, definition, definitionResource(), "")
		}
		if err != nil {
			return fmt.Errorf("putting %s back: %w", definition, err)
		}
	}
	return nil
}
