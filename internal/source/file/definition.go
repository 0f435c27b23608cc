package file

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	addonv1beta1 "github.com/berth-project/berth/api/addon/v1beta1"
	"github.com/berth-project/berth/config"
)

// definition is one version of a kind that decisions depend on, compiled from its CRD.
type definition struct {
	namespaced bool
	structural *structural.Structural
	schema     validation.SchemaValidator
	rules      *cel.Validator
}

// definitions are all versions of all kinds in the CRDs of Berth.
type definitions map[schema.GroupVersionKind]*definition

// readDefinitions reads the CRDs that are embedded in the binary.
func readDefinitions() (definitions, error) {
	out := definitions{}
	files := config.CRDs()
	names, err := fs.Glob(files, "*.yaml")
	if err != nil {
		return nil, fmt.Errorf("listing the API definitions: %w", err)
	}
	for _, name := range names {
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, fmt.Errorf("reading the API definitions: %w", err)
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(data, &crd); err != nil {
			return nil, fmt.Errorf("parsing the API definition %s: %w", name, err)
		}
		if crd.Spec.Group == addonv1beta1.GroupName { // no command reads add-ons from files
			continue
		}
		for _, version := range crd.Spec.Versions {
			made, err := compileVersion(version)
			if err != nil {
				return nil, fmt.Errorf("compiling the API definition %s: %w", name, err)
			}
			made.namespaced = crd.Spec.Scope == apiextensionsv1.NamespaceScoped
			out[schema.GroupVersionKind{Group: crd.Spec.Group, Version: version.Name, Kind: crd.Spec.Names.Kind}] = made
		}
	}
	return out, nil
}

func compileVersion(version apiextensionsv1.CustomResourceDefinitionVersion) (*definition, error) {
	var internal apiextensions.JSONSchemaProps
	err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(version.Schema.OpenAPIV3Schema, &internal, nil)
	if err != nil {
		return nil, err
	}
	tree, err := structural.NewStructural(&internal)
	if err != nil {
		return nil, err
	}
	validator, _, err := validation.NewSchemaValidator(&internal)
	if err != nil {
		return nil, err
	}
	return &definition{structural: tree, schema: validator, rules: cel.NewValidator(tree, true, celconfig.PerCallLimit)}, nil
}

// versionsOf returns the versions in which a kind is defined, sorted; none for an unknown kind.
func (d definitions) versionsOf(kind schema.GroupKind) []string {
	var out []string
	for gvk := range d {
		if gvk.GroupKind() == kind {
			out = append(out, gvk.Version)
		}
	}
	slices.Sort(out)
	return out
}

// normalise changes an object into what a server would store: it drops unknown fields and adds defaults. It returns the
// unknown fields, sorted. It leaves the metadata alone.
func (d *definition) normalise(content map[string]any) (unknown []string) {
	unknown = pruning.PruneWithOptions(content, d.structural, true, structural.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	defaulting.PruneNonNullableNullsWithoutDefaults(content, d.structural)
	defaulting.Default(content, d.structural)
	slices.Sort(unknown)
	return unknown
}

// validate returns the faults that a server finds in a normalised object, including its status and without its metadata. As
// on a server, the rules do not run where the schema has found faults that they would repeat.
func (d *definition) validate(ctx context.Context, content map[string]any) field.ErrorList {
	out := validation.ValidateCustomResource(nil, content, d.schema)
	out = append(out, listtype.ValidateListSetsAndMaps(nil, d.structural, content)...)
	slices.SortStableFunc(out, compareFields)
	if d.rules == nil || slices.ContainsFunc(out, blocksRules) {
		return out
	}
	broken, _ := d.rules.Validate(ctx, nil, d.structural, content, nil, celconfig.RuntimeCELCostBudget)
	slices.SortStableFunc(broken, compareFields) // the rules of a schema run in random order
	return append(out, broken...)
}

func compareFields(a, b *field.Error) int {
	return cmp.Or(cmp.Compare(a.Field, b.Field), cmp.Compare(a.Type, b.Type))
}

func blocksRules(err *field.Error) bool {
	switch err.Type {
	case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
		return true
	default:
		return false
	}
}
