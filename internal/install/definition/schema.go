package definition

import (
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// MissingFields returns the paths of the fields of want that have lacks, sorted, such as "spec.tiers.name". A missing field stands for all
// fields below it. Items of lists count as the list.
func MissingFields(want, have *apiextensionsv1.JSONSchemaProps) []string {
	return missingBelow(want, have, "")
}

// missingBelow returns the missing fields below a path, which both schemas have.
func missingBelow(want, have *apiextensionsv1.JSONSchemaProps, path string) []string {
	want, have = items(want), items(have)
	if keepsUnknown(have) {
		return nil
	}
	var out []string
	for name := range want.Properties {
		wanted := want.Properties[name]
		child := strings.TrimPrefix(path+"."+name, ".")
		had, ok := have.Properties[name]
		if !ok {
			out = append(out, child)
			continue
		}
		out = append(out, missingBelow(&wanted, &had, child)...)
	}
	out = append(out, missingValues(want, have, path)...)
	slices.Sort(out)
	return out
}

// missingValues compares the values of maps, whose keys are free.
func missingValues(want, have *apiextensionsv1.JSONSchemaProps, path string) []string {
	wanted, had := values(want), values(have)
	switch {
	case wanted == nil:
		return nil
	case had == nil:
		return []string{path + ".*"}
	default:
		return missingBelow(wanted, had, path+".*")
	}
}

// values returns the schema of the values of a map; nil for other schemas.
func values(schema *apiextensionsv1.JSONSchemaProps) *apiextensionsv1.JSONSchemaProps {
	if schema.AdditionalProperties == nil {
		return nil
	}
	return schema.AdditionalProperties.Schema
}

// items returns the schema of the items of a list schema, and any other schema unchanged.
func items(schema *apiextensionsv1.JSONSchemaProps) *apiextensionsv1.JSONSchemaProps {
	for schema.Items != nil && schema.Items.Schema != nil {
		schema = schema.Items.Schema
	}
	return schema
}

func keepsUnknown(schema *apiextensionsv1.JSONSchemaProps) bool {
	return schema.XPreserveUnknownFields != nil && *schema.XPreserveUnknownFields
}
