package conversion

import (
	"encoding/json"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// The versions of the kinds, as indexes of a section.
const (
	alpha = iota
	beta
)

// fields are the values of the paths of a section in one version, nil where a field is absent.
type fields []any

// side is one version of a section.
type side struct {
	paths [][]string
	// convert returns the fields of the other version. It does not modify its argument.
	convert func(fields) fields
}

// section is a part of a kind that differs between the versions, by version.
type section struct {
	name  string
	sides [2]side
}

// keptAnnotations name the annotations with the fields that the other version cannot express, by the version of the fields.
func keptAnnotations() [2]string {
	return [2]string{"berth-project.io/v1alpha1-fields", "berth-project.io/v1beta1-fields"}
}

// convert converts an object in place.
func convert(object map[string]any, sections []section, from, to int) error {
	keys := keptAnnotations()
	kept, lost := takeKept(object, keys[to]), map[string]fields{}
	takeKept(object, keys[from])
	for _, s := range sections {
		in := s.sides[from].take(object)
		out := s.sides[from].convert(in)
		if stored := kept[s.name]; len(stored) == len(s.sides[to].paths) && reflect.DeepEqual(s.sides[to].convert(stored), in) {
			out = stored
		}
		if !reflect.DeepEqual(s.sides[to].convert(out), in) {
			lost[s.name] = in
		}
		if err := s.sides[to].put(object, out); err != nil {
			return err
		}
	}
	if len(lost) == 0 {
		return nil
	}
	data, err := json.Marshal(lost)
	if err != nil {
		return fmt.Errorf("keeping the fields of the other version: %w", err)
	}
	return setNested(object, string(data), "metadata", "annotations", keys[from])
}

// take removes the fields from an object and returns them.
func (s side) take(object map[string]any) fields {
	out := make(fields, len(s.paths))
	for i, path := range s.paths {
		if value, found, err := unstructured.NestedFieldNoCopy(object, path...); found && err == nil {
			out[i] = value
			removeNested(object, path...)
		}
	}
	return out
}

func (s side) put(object map[string]any, values fields) error {
	for i, path := range s.paths {
		if values[i] == nil {
			continue
		}
		if err := setNested(object, values[i], path...); err != nil {
			return err
		}
	}
	return nil
}

// takeKept removes an annotation with fields and returns them. It returns nothing for text of another form.
func takeKept(object map[string]any, key string) map[string]fields {
	text, found, err := unstructured.NestedString(object, "metadata", "annotations", key)
	if !found || err != nil {
		return nil
	}
	removeNested(object, "metadata", "annotations", key)
	var out map[string][]any
	if utiljson.Unmarshal([]byte(text), &out) != nil {
		return nil
	}
	kept := make(map[string]fields, len(out))
	for name, values := range out {
		kept[name] = values
	}
	return kept
}

func setNested(object map[string]any, value any, path ...string) error {
	if err := unstructured.SetNestedField(object, value, path...); err != nil {
		return fmt.Errorf("setting a converted field: %w", err)
	}
	return nil
}

// removeNested removes a field, and annotations that are empty then.
func removeNested(object map[string]any, path ...string) {
	unstructured.RemoveNestedField(object, path...)
	if annotations, found, err := unstructured.NestedMap(object, "metadata", "annotations"); found && err == nil && len(annotations) == 0 {
		unstructured.RemoveNestedField(object, "metadata", "annotations")
	}
}
