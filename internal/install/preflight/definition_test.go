package preflight

import (
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/berth-project/berth/config"
	crd "github.com/berth-project/berth/internal/install/definition"
)

// shipped returns the definitions of clusters and placements that Berth ships, by resource. No decision reads the kinds of
// add-ons: a hub without them lacks a controller, which reports that itself.
func shipped(t *testing.T) map[string]*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	out := map[string]*apiextensionsv1.CustomResourceDefinition{}
	files, err := fs.Glob(config.CRDs(), group+"_*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := fs.ReadFile(config.CRDs(), file)
		if err != nil {
			t.Fatal(err)
		}
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(data, definition); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		out[definition.Spec.Names.Plural] = definition
	}
	return out
}

// missingFrom returns what a definition lacks, as text.
func missingFrom(t *testing.T, definition *apiextensionsv1.CustomResourceDefinition, need requirement) []string {
	t.Helper()
	want, err := need.schema()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, lack := range need.missing(definition, want) {
		out = append(out, lack.What)
	}
	return out
}

func TestShippedDefinitionsAreComplete(t *testing.T) {
	definitions := shipped(t)
	for _, need := range requirements() {
		if missing := missingFrom(t, definitions[need.resource], need); len(missing) > 0 {
			t.Errorf("%s lacks %v", need.resource, missing)
		}
		want, err := need.schema()
		if err != nil {
			t.Fatal(err)
		}
		for _, field := range need.required {
			if !hasField(want, strings.Split(field, ".")) {
				t.Errorf("%s: the required field %s is in no definition", need.resource, field)
			}
		}
	}
	if len(definitions) != len(requirements()) {
		t.Errorf("%d definitions are shipped and %d compared", len(definitions), len(requirements()))
	}
}

// hasField returns whether a schema has a field.
func hasField(schema *apiextensionsv1.JSONSchemaProps, path []string) bool {
	if len(path) == 0 {
		return true
	}
	child, ok := items(schema).Properties[path[0]]
	return ok && hasField(&child, path[1:])
}

// TestEveryFieldIsCompared removes each field from each shipped definition, and expects that the field is reported.
func TestEveryFieldIsCompared(t *testing.T) {
	fields := 0
	for _, need := range requirements() {
		schema, err := need.schema()
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths(schema, nil) {
			fields++
			have := schema.DeepCopy()
			remove(have, path)
			if diff := cmp.Diff([]string{strings.Join(path, ".")}, crd.MissingFields(schema, have)); diff != "" {
				t.Errorf("%s without %v (-want +got):\n%s", need.resource, path, diff)
			}
		}
	}
	if fields < 100 {
		t.Errorf("only %d fields were tried", fields)
	}
}

// paths returns the path of every field below spec and status.
func paths(schema *apiextensionsv1.JSONSchemaProps, prefix []string) [][]string {
	var out [][]string
	for name, child := range items(schema).Properties {
		if len(prefix) == 0 && name != "spec" && name != "status" {
			continue
		}
		path := append(slices.Clone(prefix), name)
		out = append(append(out, path), paths(&child, path)...)
	}
	return out
}

// items returns the schema of the items of a list schema, and any other schema unchanged.
func items(schema *apiextensionsv1.JSONSchemaProps) *apiextensionsv1.JSONSchemaProps {
	for schema.Items != nil && schema.Items.Schema != nil {
		schema = schema.Items.Schema
	}
	return schema
}

// remove removes a field from a schema.
func remove(schema *apiextensionsv1.JSONSchemaProps, path []string) {
	schema = items(schema)
	if len(path) == 1 {
		delete(schema.Properties, path[0])
		return
	}
	child := schema.Properties[path[0]]
	remove(&child, path[1:])
	schema.Properties[path[0]] = child
}

func TestEffectOfAMissingField(t *testing.T) {
	cases := map[string]struct {
		resource, field string
		required        bool
		off, effect     string
	}{
		"Berth decides nothing without the claims":     {clusters, "status.clusterClaims", true, "", "no placement is decided"},
		"nor where a parent of a required field lacks": {placements, "spec.prioritizerPolicy", true, "", "no placement is decided"},
		"tiers are not given":                          {placements, "spec.tiers", false, "", "placements are decided without it"},
		"the account of a budget is not stored":        {placements, "status.disruption", false, "", "does not store it"},
		"bindings are not reported":                    {bindings, "status.conditions", false, "binding", "the controller binding does not run"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			at := slices.IndexFunc(requirements(), func(n requirement) bool { return n.resource == tc.resource })
			got := requirements()[at].missingField(tc.resource+"."+group, tc.field)
			if got.Required != tc.required || got.DisabledController != tc.off || !strings.Contains(got.String(), tc.effect) {
				t.Errorf("got %+v: %s", got, got)
			}
		})
	}
}

func TestMissingFieldsAreNamed(t *testing.T) {
	cases := map[string]struct {
		prune func(*apiextensionsv1.CustomResourceDefinitionVersion)
		want  []string
	}{
		"a field of an item of a list": {
			func(v *apiextensionsv1.CustomResourceDefinitionVersion) {
				delete(v.Schema.OpenAPIV3Schema.Properties["spec"].Properties["tolerations"].Items.Schema.Properties, "tolerationSeconds")
			},
			[]string{"field spec.tolerations.tolerationSeconds in v1beta1 of placements.cluster.open-cluster-management.io"},
		},
		"the status subresource": {
			func(v *apiextensionsv1.CustomResourceDefinitionVersion) { v.Subresources = nil },
			[]string{"the status subresource in v1beta1 of placements.cluster.open-cluster-management.io"},
		},
		"that it is served": {
			func(v *apiextensionsv1.CustomResourceDefinitionVersion) { v.Served = false },
			[]string{"version v1beta1 of placements.cluster.open-cluster-management.io"},
		},
		"nothing, since it keeps unknown fields": {
			func(v *apiextensionsv1.CustomResourceDefinitionVersion) {
				v.Schema.OpenAPIV3Schema.Properties["spec"] = apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)}
			},
			nil,
		},
	}
	at := slices.IndexFunc(requirements(), func(n requirement) bool { return n.resource == "placements" })
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			definition := shipped(t)["placements"]
			for i := range definition.Spec.Versions {
				tc.prune(&definition.Spec.Versions[i])
			}
			if diff := cmp.Diff(tc.want, missingFrom(t, definition, requirements()[at])); diff != "" {
				t.Errorf("lacks (-want +got):\n%s", diff)
			}
		})
	}
}
