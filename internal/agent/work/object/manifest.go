package object

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	workv1 "github.com/berth-project/berth/api/work/v1"
)

var (
	errNoName      = errors.New("metadata.name is empty; the agent needs it to find the object again")
	errNoKind      = errors.New("apiVersion or kind is empty")
	errNamespace   = errors.New("the kind is namespaced and the manifest has no namespace; set metadata.namespace")
	errList        = errors.New("a list is not applied; write each of its items as a manifest")
	errClusterWide = errors.New("the kind has no namespaces")
)

// Manifest is one object of a work.
type Manifest struct {
	// Ordinal is the position in the work, from 0.
	Ordinal int
	// Object is what to apply, without the fields that the API server owns. It is read-only.
	Object *unstructured.Unstructured
	Kind   schema.GroupVersionKind
	// ID has no Resource while the member does not serve the kind.
	ID       ID
	Settings Settings
	// Hash changes with the manifest and with the settings of its writes.
	Hash string
	// Fault is why the manifest cannot be an object; nil if it can.
	Fault error
}

// Mapping returns the resource of a kind, and whether it is namespaced.
type Mapping func(schema.GroupVersionKind) (resource string, namespaced bool, err error)

// Parse returns the manifests of a work in their order. Resolve completes them.
func Parse(spec *workv1.ManifestWorkSpec) []Manifest {
	out := make([]Manifest, len(spec.Workload.Manifests))
	for i, raw := range spec.Workload.Manifests {
		out[i] = parse(raw.Raw)
		out[i].Ordinal = i
	}
	return out
}

func parse(raw []byte) Manifest {
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(raw); err != nil {
		return Manifest{Object: object, Fault: fmt.Errorf("parsing the manifest: %w", err)}
	}
	kind := object.GroupVersionKind()
	out := Manifest{
		Object: object, Kind: kind,
		ID: ID{Group: kind.Group, Namespace: object.GetNamespace(), Name: object.GetName()},
	}
	switch {
	case kind.Kind == "" || kind.Version == "":
		out.Fault = errNoKind
	case object.IsList() && strings.HasSuffix(kind.Kind, "List"):
		out.Fault = errList
	case out.ID.Name == "":
		out.Fault = errNoName
	}
	clean(object)
	return out
}

// clean removes what only the API server writes, and the keys that OCM's agents understand as removals: an apply removes a key by
// not naming it.
func clean(object *unstructured.Unstructured) {
	for _, field := range []string{
		"uid", "resourceVersion", "managedFields", "generateName", "ownerReferences", "creationTimestamp", "deletionTimestamp", "generation",
		"selfLink",
	} {
		unstructured.RemoveNestedField(object.Object, "metadata", field)
	}
	unstructured.RemoveNestedField(object.Object, "status")
	for _, field := range []string{"labels", "annotations"} {
		keys, _, _ := unstructured.NestedMap(object.Object, "metadata", field) // the API server refuses another type
		for key := range keys {
			if strings.HasSuffix(key, "-") {
				unstructured.RemoveNestedField(object.Object, "metadata", field, key)
			}
		}
	}
}

// Resolve returns the manifest with its resource and the settings that the work has for it. A kind that the member does not serve is
// an UnknownKindError in Fault.
func (m Manifest) Resolve(mapping Mapping, spec *workv1.ManifestWorkSpec) Manifest {
	if m.Fault != nil {
		return m
	}
	resource, namespaced, err := mapping(m.Kind)
	switch {
	case err != nil:
		m.Fault = err
		return m
	case namespaced && m.ID.Namespace == "":
		m.Fault = errNamespace
	case !namespaced && m.ID.Namespace != "":
		m.Fault = fmt.Errorf("%w; remove the namespace %q", errClusterWide, m.ID.Namespace)
	}
	m.ID.Resource = resource
	m.Settings = settingsOf(spec, m.ID)
	m.Hash, err = hash(m)
	if err != nil && m.Fault == nil {
		m.Fault = err
	}
	return m
}

// UnknownKindError reports a kind that the member does not serve.
type UnknownKindError struct{ Kind schema.GroupVersionKind }

// Error implements error.
func (e UnknownKindError) Error() string {
	return fmt.Sprintf("the member does not know the kind %s of %s; install its definition first", e.Kind.Kind, e.Kind.GroupVersion())
}

// hash returns the first 128 bits of SHA-256 over the manifest as canonical JSON and over the settings of writes, in hex.
func hash(m Manifest) (string, error) {
	text, err := json.Marshal([]any{m.Object.Object, m.Settings.Strategy})
	if err != nil {
		return "", fmt.Errorf("encoding the manifest: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16]), nil
}
