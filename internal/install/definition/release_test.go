package definition

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/berth-project/berth/config"
)

// TestNoDefinitionIsNarrowerThanThatOfARelease compares the definitions of this checkout with those of every release, which
// testdata/RELEASE has. A release is added once, before it is made; its files never change.
func TestNoDefinitionIsNarrowerThanThatOfARelease(t *testing.T) {
	now := map[string]*apiextensionsv1.CustomResourceDefinition{}
	for _, files := range []string{"hub", "member"} {
		folder := config.CRDs()
		if files == "member" {
			folder = config.MemberCRDs()
		}
		definitions, err := Read(folder)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range definitions {
			now[d.Name] = d
		}
	}
	releases, err := filepath.Glob("testdata/v*")
	if err != nil || len(releases) == 0 {
		t.Fatalf("no releases: %v", err)
	}
	for _, release := range releases {
		stored, err := Read(os.DirFS(release))
		if err != nil {
			t.Fatal(err)
		}
		if len(stored) == 0 {
			t.Errorf("%s has no definition", release)
		}
		for _, before := range stored {
			for _, fault := range narrowed(before, now[before.Name]) {
				t.Errorf("%s: %s: objects of this release are not kept: %s", release, before.Name, fault)
			}
		}
	}
}

// narrowed returns what a definition lacks or refuses that an earlier one had or accepted. Nil stands for a definition that is gone.
func narrowed(before, now *apiextensionsv1.CustomResourceDefinition) []string {
	if now == nil {
		return []string{"it is gone"}
	}
	var out []string
	if action := Plan(now, before, ""); action.Verb == Keep {
		out = append(out, action.Reason)
	}
	for i := range before.Spec.Versions {
		version := &before.Spec.Versions[i]
		at := slices.IndexFunc(now.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == version.Name })
		if at < 0 {
			continue // Plan reports it
		}
		after := &now.Spec.Versions[at]
		if version.Served && !after.Served {
			out = append(out, version.Name+" is not served any more")
		}
		out = append(out, narrowedBelow(schemaOf(version), schemaOf(after), version.Name)...)
	}
	return out
}

// narrowedBelow compares two schemas at a path, and those below them that both have.
func narrowedBelow(before, now *apiextensionsv1.JSONSchemaProps, path string) []string {
	out := narrowedAt(before, now, path)
	for _, name := range slices.Sorted(maps.Keys(before.Properties)) {
		if after, ok := now.Properties[name]; ok {
			was := before.Properties[name]
			out = append(out, narrowedBelow(&was, &after, path+"."+name)...)
		}
	}
	if before.Items != nil && before.Items.Schema != nil && now.Items != nil && now.Items.Schema != nil {
		out = append(out, narrowedBelow(before.Items.Schema, now.Items.Schema, path+"[]")...)
	}
	if was, after := values(before), values(now); was != nil && after != nil {
		out = append(out, narrowedBelow(was, after, path+".*")...)
	}
	return out
}

// narrowedAt compares what two schemas accept, without what is below them.
func narrowedAt(before, now *apiextensionsv1.JSONSchemaProps, path string) []string {
	var out []string
	report := func(bad bool, format string, args ...any) {
		if bad {
			out = append(out, path+" "+fmt.Sprintf(format, args...))
		}
	}
	report(before.Type != now.Type, "has the type %q, and had %q", now.Type, before.Type)
	report(before.Pattern != now.Pattern && now.Pattern != "", "has the pattern %q, and had %q", now.Pattern, before.Pattern)
	report(before.Format != now.Format && now.Format != "", "has the format %q, and had %q", now.Format, before.Format)
	report(keepsUnknown(before) && !keepsUnknown(now), "drops unknown fields")
	report(!cmp.Equal(before.Default, now.Default), "has another default")
	for _, name := range now.Required {
		report(!slices.Contains(before.Required, name), "requires %s", name)
	}
	for _, value := range before.Enum {
		same := func(other apiextensionsv1.JSON) bool { return string(other.Raw) == string(value.Raw) }
		report(len(now.Enum) > 0 && !slices.ContainsFunc(now.Enum, same), "refuses %s", value.Raw)
	}
	report(len(before.Enum) == 0 && len(now.Enum) > 0, "accepts listed values only")
	for _, rule := range now.XValidations {
		same := func(other apiextensionsv1.ValidationRule) bool { return other.Rule == rule.Rule }
		report(!slices.ContainsFunc(before.XValidations, same), "has the new rule %q", rule.Rule)
	}
	for name, bounds := range map[string][2]*int64{
		"maxLength": {before.MaxLength, now.MaxLength}, "maxItems": {before.MaxItems, now.MaxItems},
		"maxProperties": {before.MaxProperties, now.MaxProperties},
	} {
		report(bounds[1] != nil && (bounds[0] == nil || *bounds[1] < *bounds[0]), "has a smaller %s", name)
	}
	for name, bounds := range map[string][2]*int64{
		"minLength": {before.MinLength, now.MinLength}, "minItems": {before.MinItems, now.MinItems},
		"minProperties": {before.MinProperties, now.MinProperties},
	} {
		report(bounds[1] != nil && *bounds[1] > 0 && (bounds[0] == nil || *bounds[1] > *bounds[0]), "has a larger %s", name)
	}
	report(now.Maximum != nil && (before.Maximum == nil || *now.Maximum < *before.Maximum), "has a smaller maximum")
	report(now.Minimum != nil && (before.Minimum == nil || *now.Minimum > *before.Minimum), "has a larger minimum")
	slices.Sort(out)
	return out
}

func TestNarrowedReportsWhatObjectsLose(t *testing.T) {
	text := apiextensionsv1.JSONSchemaProps{
		Type: "string", Enum: []apiextensionsv1.JSON{{Raw: []byte(`"a"`)}, {Raw: []byte(`"b"`)}},
		MaxLength: new(int64(10)),
	}
	served := func(is bool, d *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinition {
		d.Spec.Versions[0].Served = is
		return d
	}
	change := func(edit func(*apiextensionsv1.JSONSchemaProps)) *apiextensionsv1.CustomResourceDefinition {
		out := served(true, definition("v1", "kept"))
		field := *text.DeepCopy()
		edit(&field)
		spec(out).Properties["field"] = field
		return out
	}
	keep := func(*apiextensionsv1.JSONSchemaProps) {}
	tests := map[string]struct {
		now  *apiextensionsv1.CustomResourceDefinition
		want []string
	}{
		"the same":        {change(keep), nil},
		"gone":            {nil, []string{"it is gone"}},
		"not served":      {served(false, change(keep)), []string{"v1 is not served any more"}},
		"a field is gone": {served(true, definition("v1", "kept")), []string{"its version v1 has fields that this release lacks: spec.field"}},
		"another type": {
			change(func(f *apiextensionsv1.JSONSchemaProps) { f.Type = "integer" }),
			[]string{`v1.spec.field has the type "integer", and had "string"`},
		},
		"a value less": {change(func(f *apiextensionsv1.JSONSchemaProps) { f.Enum = f.Enum[:1] }), []string{`v1.spec.field refuses "b"`}},
		"a value more": {change(func(f *apiextensionsv1.JSONSchemaProps) {
			f.Enum = append(f.Enum, apiextensionsv1.JSON{Raw: []byte(`"c"`)})
		}), nil},
		"shorter": {
			change(func(f *apiextensionsv1.JSONSchemaProps) { f.MaxLength = new(int64(9)) }),
			[]string{"v1.spec.field has a smaller maxLength"},
		},
		"longer": {change(func(f *apiextensionsv1.JSONSchemaProps) { f.MaxLength = new(int64(11)) }), nil},
		"not empty": {
			change(func(f *apiextensionsv1.JSONSchemaProps) { f.MinLength = new(int64(1)) }),
			[]string{"v1.spec.field has a larger minLength"},
		},
		"a rule more": {
			change(func(f *apiextensionsv1.JSONSchemaProps) {
				f.XValidations = apiextensionsv1.ValidationRules{{Rule: "self != 'a'"}}
			}),
			[]string{`v1.spec.field has the new rule "self != 'a'"`},
		},
		"a default more": {
			change(func(f *apiextensionsv1.JSONSchemaProps) { f.Default = &apiextensionsv1.JSON{Raw: []byte(`"a"`)} }),
			[]string{"v1.spec.field has another default"},
		},
	}
	before := change(keep)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, narrowed(before, test.now)); diff != "" {
				t.Errorf("narrowed() (-want +got):\n%s", diff)
			}
		})
	}
}

// spec returns the schema of the spec in a definition of a test.
func spec(of *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.JSONSchemaProps {
	out := of.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	return &out
}
