package definition

import (
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// NewClient returns a client that reads and writes definitions.
func NewClient(restConfig *rest.Config) (client.Client, error) {
	scheme := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("registering types: %w", err)
	}
	out, err := client.New(restConfig, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("making a client of the hub: %w", err)
	}
	return out, nil
}

// applyConfiguration returns a definition as it is applied: with the release that stores it, and without a status.
func applyConfiguration(definition *apiextensionsv1.CustomResourceDefinition, release string) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(definition)
	if err != nil {
		return nil, fmt.Errorf("converting the definition %s: %w", definition.Name, err)
	}
	out := &unstructured.Unstructured{Object: content}
	unstructured.RemoveNestedField(out.Object, "status")
	unstructured.RemoveNestedField(out.Object, "metadata", "creationTimestamp")
	annotations := out.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[ReleaseAnnotation] = release
	out.SetAnnotations(annotations)
	out.SetAPIVersion(apiextensionsv1.SchemeGroupVersion.String())
	out.SetKind("CustomResourceDefinition")
	return out, nil
}
