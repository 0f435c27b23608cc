package main

import (
	"fmt"
	"io/fs"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/util/yaml"
)

// definition is the part of a CustomResourceDefinition that a reader of the reference cares for. The types of
// apiextensions-apiserver would do as well, at the price of that dependency for the whole module.
type definition struct {
	Spec struct {
		Group string `json:"group"`
		Scope string `json:"scope"`
		Names struct {
			Kind       string   `json:"kind"`
			Plural     string   `json:"plural"`
			ShortNames []string `json:"shortNames"`
		} `json:"names"`
		Versions []version `json:"versions"`
	} `json:"spec"`
}

type version struct {
	Name    string `json:"name"`
	Storage bool   `json:"storage"`
	Schema  struct {
		OpenAPIV3Schema schema `json:"openAPIV3Schema"`
	} `json:"schema"`
}

// schema is an OpenAPI schema as far as Berth's types use it.
type schema struct {
	Type                 string            `json:"type"`
	Format               string            `json:"format"`
	Description          string            `json:"description"`
	Default              any               `json:"default"`
	Enum                 []string          `json:"enum"`
	Pattern              string            `json:"pattern"`
	Minimum              *float64          `json:"minimum"`
	Maximum              *float64          `json:"maximum"`
	Required             []string          `json:"required"`
	Properties           map[string]schema `json:"properties"`
	Items                *schema           `json:"items"`
	AdditionalProperties *schema           `json:"additionalProperties"`
	IntOrString          bool              `json:"x-kubernetes-int-or-string"`
	Rules                []rule            `json:"x-kubernetes-validations"`
}

type rule struct {
	Message   string `json:"message"`
	FieldPath string `json:"fieldPath"`
}

func (r rule) String() string {
	where := strings.TrimPrefix(r.FieldPath, ".")
	if where != "" {
		where = " `" + where + "`"
	}
	return "The server checks" + where + ": " + r.Message + "."
}

// stored returns the version that objects are stored in, and the names of the others. Their schemas must not differ, or
// the reference would have to tell them apart.
func (d definition) stored() (stored version, others []string, err error) {
	for _, v := range d.Spec.Versions {
		if v.Storage {
			stored = v
		}
	}
	for _, v := range d.Spec.Versions {
		if v.Storage {
			continue
		}
		if !reflect.DeepEqual(v.Schema.OpenAPIV3Schema.Properties, stored.Schema.OpenAPIV3Schema.Properties) {
			return version{}, nil, fmt.Errorf("%s differs between %s and %s", d.Spec.Names.Kind, v.Name, stored.Name)
		}
		others = append(others, v.Name)
	}
	return stored, others, nil
}

func readDefinitions(files fs.FS) ([]definition, error) {
	names, err := fs.Glob(files, "*.yaml")
	if err != nil {
		return nil, fmt.Errorf("listing CRDs: %w", err)
	}
	definitions := make([]definition, len(names))
	for i, name := range names {
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, fmt.Errorf("reading a CRD: %w", err)
		}
		if err := yaml.Unmarshal(data, &definitions[i]); err != nil {
			return nil, fmt.Errorf("decoding %s: %w", name, err)
		}
	}
	return definitions, nil
}
