// Package compare finds which objects of a work a change of its spec touches, and which fields of them.
//
// It is pure. It returns names of objects and fields, and never a value, since manifests may be Secrets.
package compare

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/delivery/plan"
)

// Effect is what a change does to an object.
type Effect string

// The effects.
const (
	Created Effect = "created"
	Changed Effect = "changed"
	Removed Effect = "removed"
)

// maxFields bounds the fields that are named of one object.
const maxFields = 50

// Object is an object that a change touches.
type Object struct {
	// Object names it: "Deployment shop/web", or "the settings of the work".
	Object string `json:"object"`
	Effect Effect `json:"effect"`
	// Fields are the paths of the changed fields, sorted: spec.template.spec.containers[web].image.
	Fields []string `json:"fields,omitempty"`
}

// settings is the name of the parts of a work that are no manifests.
const settings = "the settings of the work"

// identity names an object whatever version it is in.
type identity struct {
	schema.GroupKind

	namespace, name string
}

// Specs returns the objects that a change of a spec touches, in the order of the work, removed ones last. A nil spec has no objects.
func Specs(before, after *workv1.ManifestWorkSpec) ([]Object, error) {
	former, order, err := objectsOf(before)
	if err != nil {
		return nil, err
	}
	next, nextOrder, err := objectsOf(after)
	if err != nil {
		return nil, err
	}
	out := []Object{}
	for _, id := range nextOrder {
		was, existed := former[id]
		if !existed {
			out = append(out, Object{Object: nameOf(id), Effect: Created})
			continue
		}
		if fields := changedFields(was, next[id]); len(fields) > 0 {
			out = append(out, Object{Object: nameOf(id), Effect: Changed, Fields: fields})
		}
	}
	for _, id := range order {
		if _, stays := next[id]; !stays {
			out = append(out, Object{Object: nameOf(id), Effect: Removed})
		}
	}
	if before == nil || after == nil {
		return out, nil
	}
	if fields := changedSettings(before, after); len(fields) > 0 {
		out = append(out, Object{Object: settings, Effect: Changed, Fields: fields})
	}
	return out, nil
}

// objectsOf returns the objects of a spec, and their order.
func objectsOf(spec *workv1.ManifestWorkSpec) (objects map[identity]map[string]any, order []identity, err error) {
	objects = map[identity]map[string]any{}
	if spec == nil {
		return objects, nil, nil
	}
	for i, manifest := range spec.Workload.Manifests {
		decoder := json.NewDecoder(bytes.NewReader(manifest.Raw))
		decoder.UseNumber()
		var content map[string]any
		if err := decoder.Decode(&content); err != nil {
			return nil, nil, fmt.Errorf("reading manifest %d: %w", i, err)
		}
		var head metav1.PartialObjectMetadata
		if err := json.Unmarshal(manifest.Raw, &head); err != nil {
			return nil, nil, fmt.Errorf("reading the metadata of manifest %d: %w", i, err)
		}
		if metadata, ok := content["metadata"].(map[string]any); ok && metadata["creationTimestamp"] == nil {
			delete(metadata, "creationTimestamp") // encoders of Go add a null
		}
		id := identity{schema.FromAPIVersionAndKind(head.APIVersion, head.Kind).GroupKind(), head.Namespace, head.Name}
		if _, twice := objects[id]; !twice {
			order = append(order, id)
		}
		objects[id] = content
	}
	return objects, order, nil
}

func nameOf(id identity) string {
	return plan.ManifestName(workv1.ManifestResourceMeta{Kind: id.Kind, Namespace: id.namespace, Name: id.name})
}

// changedSettings returns the fields of the spec that differ, beside the manifests.
func changedSettings(before, after *workv1.ManifestWorkSpec) []string {
	encode := func(spec *workv1.ManifestWorkSpec) map[string]any {
		rest := spec.DeepCopy()
		rest.Workload.Manifests = nil
		text, err := json.Marshal(rest)
		out := map[string]any{}
		if err != nil || json.Unmarshal(text, &out) != nil {
			return nil
		}
		return out
	}
	return changedFields(encode(before), encode(after))
}

// changedFields returns the paths of the fields that differ, sorted and bounded.
func changedFields(before, after map[string]any) []string {
	var out []string
	collect("", before, after, &out)
	slices.Sort(out)
	out = slices.Compact(out)
	if more := len(out) - maxFields; more > 0 {
		out = append(out[:maxFields], fmt.Sprintf("and %d more", more))
	}
	return out
}

func collect(path string, before, after any, into *[]string) {
	if reflect.DeepEqual(before, after) {
		return
	}
	switch was := before.(type) {
	case map[string]any:
		if is, ok := after.(map[string]any); ok {
			collectMap(path, was, is, into)
			return
		}
	case []any:
		if is, ok := after.([]any); ok {
			collectList(path, was, is, into)
			return
		}
	}
	*into = append(*into, strings.TrimPrefix(path, "."))
}

func collectMap(path string, before, after map[string]any, into *[]string) {
	for key, value := range before {
		collect(path+"."+key, value, after[key], into)
	}
	for key, value := range after {
		if _, known := before[key]; !known {
			collect(path+"."+key, nil, value, into)
		}
	}
}

// collectList compares the elements of a list by name where all have one, else by position. A list of plain values is one field.
func collectList(path string, before, after []any, into *[]string) {
	former, named := byName(before)
	next, alsoNamed := byName(after)
	if named && alsoNamed {
		for name, value := range former {
			collect(path+"["+name+"]", value, next[name], into)
		}
		for name, value := range next {
			if _, known := former[name]; !known {
				collect(path+"["+name+"]", nil, value, into)
			}
		}
		return
	}
	*into = append(*into, strings.TrimPrefix(path, "."))
}

// byName returns the elements of a list by name. Ok is false where an element has none, or two have the same.
func byName(list []any) (out map[string]any, ok bool) {
	out = map[string]any{}
	for _, element := range list {
		fields, isMap := element.(map[string]any)
		name, hasName := fields["name"].(string)
		if _, twice := out[name]; !isMap || !hasName || twice {
			return nil, false
		}
		out[name] = element
	}
	return out, true
}
