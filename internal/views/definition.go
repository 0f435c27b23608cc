package views

import (
	"fmt"
	"io/fs"
	"maps"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	openapiv2 "k8s.io/apiextensions-apiserver/pkg/controller/openapi/v2"
	generated "k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource/tableconvertor"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/openapi"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/server"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/util"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/config"
)

// definitions are the stored versions of the resources of the views, by name. A view has the schema and the columns of the
// stored resource.
type definitions map[string]apiextensionsv1.CustomResourceDefinitionVersion

func readDefinitions() (definitions, error) {
	out := definitions{}
	for _, resource := range []string{"managedclusters", "managedclustersets"} {
		data, err := fs.ReadFile(config.CRDs(), clusterv1.GroupName+"_"+resource+".yaml")
		if err != nil {
			return nil, fmt.Errorf("reading the definition of %s: %w", resource, err)
		}
		var definition apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(data, &definition); err != nil {
			return nil, fmt.Errorf("reading the definition of %s: %w", resource, err)
		}
		for _, version := range definition.Spec.Versions {
			if version.Storage {
				out[resource] = version
			}
		}
	}
	return out, nil
}

// tableConvertor returns the table columns of a resource.
func (d definitions) tableConvertor(resource string) (rest.TableConvertor, error) {
	out, err := tableconvertor.New(d[resource].AdditionalPrinterColumns)
	if err != nil {
		return nil, fmt.Errorf("reading the columns of %s: %w", resource, err)
	}
	return out, nil
}

// configureOpenAPI publishes the schemas as OpenAPI v2 and v3. The API server merges both documents with those of every other API,
// so a schema that v2 cannot express would break the document of the whole hub.
func (d definitions) configureOpenAPI(config *server.Config, scheme *runtime.Scheme) error {
	v3, err := d.structuralSchemas()
	if err != nil {
		return err
	}
	v2 := map[string]*structural.Structural{}
	for resource, schema := range v3 {
		v2[resource] = openapiv2.ToStructuralOpenAPIV2(schema)
	}
	namer := openapi.NewDefinitionNamer(scheme)
	config.OpenAPIConfig = server.DefaultOpenAPIConfig(openAPIDefinitions(v2), namer)
	config.OpenAPIV3Config = server.DefaultOpenAPIV3Config(openAPIDefinitions(v3), namer)
	config.OpenAPIConfig.Info.Title, config.OpenAPIV3Config.Info.Title = Name, Name
	name := func(model string) (string, spec.Extensions) {
		if strings.Contains(model, "/") { // the Go path of an own type
			model = util.ToRESTFriendlyName(model)
		}
		return namer.GetDefinitionName(model)
	}
	config.OpenAPIConfig.GetDefinitionName, config.OpenAPIV3Config.GetDefinitionName = name, name
	config.OpenAPIV3Config.Definitions = openAPIDefinitions(v3)(func(model string) spec.Ref {
		published, _ := name(model)
		return spec.MustCreateRef("#/components/schemas/" + common.EscapeJsonPointer(published))
	})
	return nil
}

// structuralSchemas returns the schemas in the form in which the API server publishes custom resources.
func (d definitions) structuralSchemas() (map[string]*structural.Structural, error) {
	out := map[string]*structural.Structural{}
	for resource, version := range d {
		internal := &apiextensions.JSONSchemaProps{}
		if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(version.Schema.OpenAPIV3Schema, internal,
			nil); err != nil {
			return nil, fmt.Errorf("reading the schema of %s: %w", resource, err)
		}
		schema, err := structural.NewStructural(internal)
		if err != nil {
			return nil, fmt.Errorf("reading the schema of %s: %w", resource, err)
		}
		out[resource] = schema.Unfold()
	}
	return out, nil
}

// openAPIDefinitions returns the definitions of a document: the given schemas, their lists, and the types of Kubernetes.
func openAPIDefinitions(of map[string]*structural.Structural) common.GetOpenAPIDefinitions {
	return func(ref common.ReferenceCallback) map[string]common.OpenAPIDefinition {
		out := maps.Clone(generated.GetOpenAPIDefinitions(ref))
		add := func(resource string, one, list any) {
			name := util.GetCanonicalTypeName(one)
			out[name] = objectDefinition(of[resource], ref)
			out[util.GetCanonicalTypeName(list)] = listDefinition(name, ref)
		}
		add("managedclusters", &clusterv1.ManagedCluster{}, &clusterv1.ManagedClusterList{})
		add("managedclustersets", &clusterv1beta2.ManagedClusterSet{}, &clusterv1beta2.ManagedClusterSetList{})
		return out
	}
}

// objectDefinition returns the OpenAPI definition of an object, with a reference as its metadata.
func objectDefinition(schema *structural.Structural, ref common.ReferenceCallback) common.OpenAPIDefinition {
	out := schema.ToKubeOpenAPI()
	metadata := metav1.ObjectMeta{}.OpenAPIModelName()
	out.Properties["metadata"] = reference(metadata, ref)
	return common.OpenAPIDefinition{Schema: *out, Dependencies: []string{metadata}}
}

func listDefinition(item string, ref common.ReferenceCallback) common.OpenAPIDefinition {
	metadata := metav1.ListMeta{}.OpenAPIModelName()
	items := reference(item, ref)
	text := *spec.StringProperty()
	return common.OpenAPIDefinition{
		Schema: spec.Schema{SchemaProps: spec.SchemaProps{
			Type:     []string{"object"},
			Required: []string{"items"},
			Properties: map[string]spec.Schema{
				"apiVersion": text, "kind": text,
				"metadata": reference(metadata, ref),
				"items":    *spec.ArrayProperty(&items),
			},
		}},
		Dependencies: []string{item, metadata},
	}
}

func reference(name string, ref common.ReferenceCallback) spec.Schema {
	return spec.Schema{SchemaProps: spec.SchemaProps{
		Default: map[string]any{},
		Ref:     ref(name),
	}}
}
