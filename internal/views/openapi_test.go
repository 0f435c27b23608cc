package views

import (
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/server"
	"k8s.io/kube-openapi/pkg/builder"
	"k8s.io/kube-openapi/pkg/builder3"
	"k8s.io/kube-openapi/pkg/handler"
	"k8s.io/kube-openapi/pkg/handler3"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

const (
	clusterModel = "github.com/berth-project/berth/api/cluster/v1.ManagedCluster"
	setModel     = "github.com/berth-project/berth/api/cluster/v1beta2.ManagedClusterSet"
)

// newOpenAPIConfig returns a server configuration that publishes the schemas of the views.
func newOpenAPIConfig(t *testing.T) *server.Config {
	t.Helper()
	definitions, err := readDefinitions()
	if err != nil {
		t.Fatal(err)
	}
	scheme, err := newScheme()
	if err != nil {
		t.Fatal(err)
	}
	config := server.NewConfig(serializer.NewCodecFactory(scheme))
	if err := definitions.configureOpenAPI(config, scheme); err != nil {
		t.Fatal(err)
	}
	config.OpenAPIConfig.Info.Version = "v1" // the server fills it in
	return config
}

// TestOpenAPIV2IsValidInBothForms encodes the published schemas as an API server that aggregates them does. One schema
// that OpenAPI v2 does not have fails the document of the whole hub.
func TestOpenAPIV2IsValidInBothForms(t *testing.T) {
	swagger, err := builder.BuildOpenAPIDefinitionsForResources(newOpenAPIConfig(t).OpenAPIConfig, clusterModel, clusterModel+"List", setModel,
		setModel+"List")
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(swagger)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := handler.ToProtoBinary(data); err != nil {
		t.Errorf("encoding the document as protobuf: %v", err)
	}
	for _, keyword := range []string{`"nullable"`, `"anyOf"`, `"oneOf"`, `"allOf"`, `"not"`} {
		if strings.Contains(string(data), keyword) {
			t.Errorf("the document has %s, which OpenAPI v2 or kubectl does not support", keyword)
		}
	}
	for name, schema := range swagger.Definitions {
		checkSchema(t, name, schema)
	}
}

// checkSchema fails the test if the schema of a view lacks a field that kubectl explain prints.
func checkSchema(t *testing.T, name string, schema spec.Schema) {
	t.Helper()
	if _, object := schema.Properties["spec"]; !object {
		return
	}
	if got := schema.Properties["metadata"]; got.Ref.String() == "" && len(got.AllOf) != 1 {
		t.Errorf("%s has metadata of its own, want a reference", name)
	}
	inner := schema.Properties["spec"]
	if schema.Description == "" || len(inner.Properties) == 0 || schema.Extensions["x-kubernetes-group-version-kind"] == nil {
		t.Errorf("%s lacks a description, the fields of its spec or its group, version and kind", name)
	}
}

// TestOpenAPIV3IsValidInBothForms does the same for OpenAPI v3, which has more features.
func TestOpenAPIV3IsValidInBothForms(t *testing.T) {
	schemas, err := builder3.BuildOpenAPIDefinitionsForResources(newOpenAPIConfig(t).OpenAPIV3Config, clusterModel, clusterModel+"List",
		setModel, setModel+"List")
	if err != nil {
		t.Fatal(err)
	}
	document, err := json.Marshal(map[string]any{
		"openapi": "3.0.0", "info": map[string]any{"title": Name, "version": "v1"}, "paths": map[string]any{},
		"components": map[string]any{"schemas": schemas},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := handler3.ToV3ProtoBinary(document); err != nil {
		t.Errorf("encoding the document as protobuf: %v", err)
	}
	for name, schema := range schemas {
		checkSchema(t, name, *schema)
	}
	if !strings.Contains(string(document), `"x-kubernetes-int-or-string":true`) {
		t.Error("the document does not allow quantities as numbers")
	}
}
