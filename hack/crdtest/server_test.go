package crdtest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	"sigs.k8s.io/yaml"
)

// definitions returns every CRD of hubs in the form of kube-apiserver: defaulted and internal, by file name.
func definitions(t *testing.T) map[string]*apiextensions.CustomResourceDefinition {
	t.Helper()
	return definitionsIn(t, filepath.Join("..", "..", "config", "crd"))
}

func definitionsIn(t *testing.T, folder string) map[string]*apiextensions.CustomResourceDefinition {
	t.Helper()
	_ = os.Getenv("BERTH_AREA_CONFIG_CRD") // go test keeps the result while no definition changes, see internal/checkout
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{apiextensions.AddToScheme, apiextensionsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	files := os.DirFS(folder)
	names, err := fs.Glob(files, "*.yaml")
	if err != nil || len(names) == 0 {
		t.Fatalf("listing the CRDs: %v, %v", names, err)
	}
	out := map[string]*apiextensions.CustomResourceDefinition{}
	for _, name := range names {
		data, err := fs.ReadFile(files, name)
		if err != nil {
			t.Fatal(err)
		}
		var external apiextensionsv1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(data, &external); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		scheme.Default(&external)
		var internal apiextensions.CustomResourceDefinition
		if err := scheme.Convert(&external, &internal, nil); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out[name] = &internal
	}
	return out
}

// servedKind is one served version of a CRD.
type servedKind struct {
	schema   *structuralschema.Structural
	strategy rest.RESTCreateUpdateStrategy
}

// servedKinds returns every kind of hubs in every version.
func servedKinds(t *testing.T) map[schema.GroupVersionKind]servedKind {
	t.Helper()
	return servedKindsOf(t, definitions(t))
}

func servedKindsOf(t *testing.T, definitions map[string]*apiextensions.CustomResourceDefinition) map[schema.GroupVersionKind]servedKind {
	t.Helper()
	out := map[schema.GroupVersionKind]servedKind{}
	for _, crd := range definitions {
		for _, version := range crd.Spec.Versions {
			gvk := schema.GroupVersionKind{Group: crd.Spec.Group, Version: version.Name, Kind: crd.Spec.Names.Kind}
			props, err := apiextensions.GetSchemaForVersion(crd, version.Name)
			if err != nil {
				t.Fatal(err)
			}
			structural, err := structuralschema.NewStructural(props.OpenAPIV3Schema)
			if err != nil {
				t.Fatal(err)
			}
			validator, _, err := validation.NewSchemaValidator(props.OpenAPIV3Schema)
			if err != nil {
				t.Fatal(err)
			}
			namespaced := crd.Spec.Scope == apiextensions.NamespaceScoped
			out[gvk] = servedKind{
				schema:   structural,
				strategy: customresource.NewStrategy(unstructuredTyper{}, namespaced, gvk, validator, nil, structural, nil, nil, nil),
			}
		}
	}
	return out
}

// admit processes an object like the server on creation, or on update if old is given. It removes unknown fields from the
// object and sets defaults.
func (k servedKind) admit(t *testing.T, obj, old *unstructured.Unstructured) field.ErrorList {
	t.Helper()
	k.normalise(obj)
	if old == nil {
		return k.strategy.Validate(t.Context(), obj)
	}
	k.normalise(old)
	obj.SetResourceVersion("1")
	old.SetResourceVersion("1")
	return k.strategy.ValidateUpdate(t.Context(), obj, old)
}

func (k servedKind) normalise(obj *unstructured.Unstructured) {
	pruning.Prune(obj.Object, k.schema, true)
	defaulting.PruneNonNullableNullsWithoutDefaults(obj.Object, k.schema)
	defaulting.Default(obj.Object, k.schema)
}

// unstructuredTyper reads an object's kind from the object, as the server's own does for custom resources.
type unstructuredTyper struct{}

func (unstructuredTyper) ObjectKinds(obj runtime.Object) ([]schema.GroupVersionKind, bool, error) {
	gvk := obj.GetObjectKind().GroupVersionKind()
	if gvk.Empty() {
		return nil, false, fmt.Errorf("object of type %T has no kind", obj)
	}
	return []schema.GroupVersionKind{gvk}, false, nil
}

func (unstructuredTyper) Recognizes(schema.GroupVersionKind) bool { return true }
