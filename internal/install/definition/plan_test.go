package definition

import (
	"io/fs"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/berth-project/berth/config"
)

// definition returns a definition with one version that has the fields, all of them below spec.
func definition(version string, fields ...string) *apiextensionsv1.CustomResourceDefinition {
	spec := apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{}}
	for _, field := range fields {
		spec.Properties[field] = apiextensionsv1.JSONSchemaProps{Type: "string"}
	}
	out := &apiextensionsv1.CustomResourceDefinition{}
	out.Spec.Scope = apiextensionsv1.NamespaceScoped
	out.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{{
		Name: version, Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
			Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": spec},
		}},
	}}
	return out
}

func storedBy(release string, d *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinition {
	d.Annotations = map[string]string{ReleaseAnnotation: release}
	return d
}

func TestPlan(t *testing.T) {
	cluster := definition("v1", "a")
	cluster.Spec.Scope = apiextensionsv1.ClusterScoped
	tests := map[string]struct {
		installed  *apiextensionsv1.CustomResourceDefinition
		wantVerb   Verb
		wantReason string
	}{
		"a definition that the hub lacks is created":                 {nil, Create, ""},
		"one with the same fields is updated, for its descriptions":  {definition("v1", "a", "b"), Update, ""},
		"one with fewer fields is updated":                           {definition("v1", "a"), Update, ""},
		"one that an older release stored is updated":                {storedBy("v0.0.9", definition("v1", "a")), Update, ""},
		"one that a development version stored is compared by field": {storedBy("devel-abc", definition("v1", "a")), Update, ""},
		"one with another field is kept": {
			definition("v1", "a", "c"), Keep, "its version v1 has fields that this release lacks: spec.c",
		},
		"the fields in a reason are bounded": {
			definition("v1", "c", "d", "e", "f", "g", "h", "i"), Keep,
			"its version v1 has fields that this release lacks: spec.c, spec.d, spec.e, spec.f, spec.g and 2 more",
		},
		"one with a newer version is kept": {definition("v2", "a"), Keep, "it has version v2, which this release lacks"},
		"one with another scope is kept":   {cluster, Keep, "its scope is Cluster, and this release has Namespaced"},
		"one that a newer release stored is kept": {
			storedBy("v0.2.0", definition("v1", "a")), Keep, "release v0.2.0 of Berth stored it, and this is v0.1.0",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			shipped := definition("v1", "a", "b")
			got := Plan(shipped, test.installed, "v0.1.0")
			want := Action{Verb: test.wantVerb, Definition: shipped, Reason: test.wantReason}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("Plan() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnOlderVersionStaysServed(t *testing.T) {
	shipped, installed := definition("v1beta1", "a", "b"), definition("v1beta1", "a")
	shipped.Spec.Versions[0].Storage = true
	former := definition("v1alpha1", "old").Spec.Versions[0]
	former.Served, former.Storage = true, true
	installed.Spec.Versions = append(installed.Spec.Versions, former)
	installed.Status.StoredVersions = []string{"v1alpha1"}
	got := Plan(shipped, installed, "v0.1.0")
	want := shipped.DeepCopy()
	former.Storage = false
	want.Spec.Versions = append(want.Spec.Versions, former)
	if diff := cmp.Diff(Action{Verb: Update, Definition: want}, got); diff != "" {
		t.Errorf("Plan() (-want +got):\n%s", diff)
	}
	if others := otherStored(got.Definition, installed); !slices.Equal(others, []string{"v1alpha1"}) {
		t.Errorf("otherStored() = %v", others)
	}
	if len(shipped.Spec.Versions) != 1 {
		t.Error("the shipped definition has changed")
	}
	installed.Spec.Versions[1].Name = "v1"
	if got := Plan(shipped, installed, "v0.1.0"); got.Verb != Keep {
		t.Errorf("with a newer version: %+v", got)
	}
}

func TestMissingFields(t *testing.T) {
	object := func(properties map[string]apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
		return apiextensionsv1.JSONSchemaProps{Type: "object", Properties: properties}
	}
	text := apiextensionsv1.JSONSchemaProps{Type: "string"}
	leaf := object(map[string]apiextensionsv1.JSONSchemaProps{"key": text, "value": text})
	short := object(map[string]apiextensionsv1.JSONSchemaProps{"key": text})
	list := func(of apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
		return apiextensionsv1.JSONSchemaProps{Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &of}}
	}
	mapOf := func(of apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
		return apiextensionsv1.JSONSchemaProps{Type: "object", AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Schema: &of}}
	}
	open := apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)}
	tests := map[string]struct {
		want, have apiextensionsv1.JSONSchemaProps
		fields     []string
	}{
		"a field of an object":                {leaf, short, []string{"top.value"}},
		"a field of a list's items":           {list(leaf), list(short), []string{"top.value"}},
		"a field of a map's values":           {mapOf(leaf), mapOf(short), []string{"top.*.value"}},
		"a map that became an object":         {mapOf(leaf), short, []string{"top.*"}},
		"an object that keeps unknown fields": {leaf, open, nil},
		"more fields than wanted":             {short, leaf, nil},
		"a missing object stands for all its fields": {
			object(map[string]apiextensionsv1.JSONSchemaProps{"deep": leaf}), short,
			[]string{"top.deep"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			want := object(map[string]apiextensionsv1.JSONSchemaProps{"top": test.want})
			have := object(map[string]apiextensionsv1.JSONSchemaProps{"top": test.have})
			if diff := cmp.Diff(test.fields, MissingFields(&want, &have)); diff != "" {
				t.Errorf("MissingFields() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestShippedDefinitionsReplaceThemselves(t *testing.T) {
	for name, files := range map[string]fs.FS{"hub": config.CRDs(), "member": config.MemberCRDs()} {
		definitions, err := Read(files)
		if err != nil {
			t.Fatal(err)
		}
		if len(definitions) == 0 {
			t.Fatalf("no definitions for the %s", name)
		}
		for _, d := range definitions {
			if got := Plan(d, d.DeepCopy(), "v0.1.0"); got.Verb != Update {
				t.Errorf("%s: %s because %s, want an update", d.Name, got.Verb, got.Reason)
			}
		}
	}
}
