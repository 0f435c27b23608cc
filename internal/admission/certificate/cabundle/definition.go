package cabundle

import (
	"context"
	"fmt"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Definitions of add-ons exist only where a user has installed them. The conversion of another manager stays as it is.
//
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,resourceNames=clustermanagementaddons.addon.open-cluster-management.io;managedclusteraddons.addon.open-cluster-management.io,verbs=get;patch

const definitionKind = "CustomResourceDefinition"

// conversionPath is the path to the conversion webhook in a definition.
func conversionPath() []string { return []string{"spec", "conversion", "webhook", "clientConfig"} }

// conversion returns the target of the conversion webhook of a definition.
func conversion(object *unstructured.Unstructured) []target {
	found, ok, err := unstructured.NestedFieldNoCopy(object.Object, conversionPath()...)
	config, isMap := found.(map[string]any)
	if !ok || err != nil || !isMap {
		return nil
	}
	return []target{config}
}

// path returns the path of a webhook on its server.
func (t target) path() string {
	if service, ok := t["service"].(map[string]any); ok {
		path, _ := service["path"].(string)
		return path
	}
	text, _ := t["url"].(string)
	parsed, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return parsed.Path
}

// convertible reports whether the manager may set the conversion of a definition: it exists, and has no conversion of another
// manager.
func (p *Publisher) convertible(ctx context.Context, object *unstructured.Unstructured) (bool, error) {
	stored := &unstructured.Unstructured{}
	stored.SetGroupVersionKind(object.GroupVersionKind())
	if err := p.client.Get(ctx, client.ObjectKeyFromObject(object), stored); err != nil {
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return false, fmt.Errorf("reading the %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return hasConversionOf(stored, object), nil
}

// hasConversionOf reports whether a stored definition has the conversion of an object, or none.
func hasConversionOf(stored, object *unstructured.Unstructured) bool {
	for _, other := range conversion(stored) {
		for _, own := range conversion(object) {
			return other.path() == own.path()
		}
	}
	return true
}
