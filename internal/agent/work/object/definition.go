package object

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// Defines returns the kind that a manifest of a CustomResourceDefinition defines; empty for other manifests.
func Defines(m *Manifest) (group, kind string) {
	if m.Kind.Group != "apiextensions.k8s.io" || m.Kind.Kind != "CustomResourceDefinition" {
		return "", ""
	}
	group, _, _ = unstructured.NestedString(m.Object.Object, "spec", "group") // the API server refuses another type
	kind, _, _ = unstructured.NestedString(m.Object.Object, "spec", "names", "kind")
	return group, kind
}
