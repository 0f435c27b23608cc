package app

import (
	"io/fs"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/berth-project/berth/config"
)

// shipped returns the definitions that Berth ships, by resource.
func shipped(t *testing.T) map[string]*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	out := map[string]*apiextensionsv1.CustomResourceDefinition{}
	files, err := fs.Glob(config.CRDs(), "*.yaml")
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

func TestBerthsOwnDefinitionsLackNothing(t *testing.T) {
	definitions := shipped(t)
	for _, need := range needs() {
		if missing := lacks(definitions[need.resource], need); len(missing) > 0 {
			t.Errorf("%s lacks %v", need.resource, missing)
		}
	}
	if len(definitions) != len(needs()) {
		t.Errorf("%d definitions are shipped and %d looked at", len(definitions), len(needs()))
	}
}

func TestWhatADefinitionLacksIsNamed(t *testing.T) {
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
		"nothing, since it keeps what it does not know": {
			func(v *apiextensionsv1.CustomResourceDefinitionVersion) {
				v.Schema.OpenAPIV3Schema.Properties["spec"] = apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)}
			},
			nil,
		},
	}
	at := slices.IndexFunc(needs(), func(n need) bool { return n.resource == "placements" })
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			definition := shipped(t)["placements"]
			for i := range definition.Spec.Versions {
				tc.prune(&definition.Spec.Versions[i])
			}
			if diff := cmp.Diff(tc.want, lacks(definition, needs()[at])); diff != "" {
				t.Errorf("lacks (-want +got):\n%s", diff)
			}
		})
	}
}
