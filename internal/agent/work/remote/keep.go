package remote

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// ofOtherManagers returns the fields that other managers than one own, but for those of the status.
func ofOtherManagers(live *unstructured.Unstructured, manager string) *fieldpath.Set {
	out := &fieldpath.Set{}
	for _, entry := range live.GetManagedFields() {
		if entry.Manager != manager && entry.Subresource != "status" && entry.FieldsV1 != nil {
			out = out.Union(setOf(entry.FieldsV1.GetRawBytes()))
		}
	}
	return out
}

// keep leaves the value at a path as live has it: it removes the value from body where another manager owns it or live has none, and
// copies it otherwise. A path that body does not have is skipped: the agent does not manage it.
func keep(body, live any, path []any, others *fieldpath.Set) {
	switch to := body.(type) {
	case map[string]any:
		keepField(to, live, path, others)
	case []any:
		keepElement(to, live, path, others)
	}
}

func keepField(to map[string]any, live any, path []any, others *fieldpath.Set) {
	name, ok := path[0].(string)
	if !ok {
		return
	}
	if _, has := to[name]; !has {
		return
	}
	from, _ := live.(map[string]any)
	value, has := from[name]
	element := fieldpath.FieldNameElement(name)
	below, owned := others.Children.Get(element)
	switch {
	case len(path) > 1:
		if !owned {
			below = &fieldpath.Set{}
		}
		keep(to[name], value, path[1:], below)
	case has && !owned && !others.Members.Has(element):
		to[name] = value
	default:
		delete(to, name)
	}
}

// keepElement leaves an element of a list. Elements with a name are the same where their names are, others where their positions are.
func keepElement(to []any, live any, path []any, others *fieldpath.Set) {
	index, ok := indexOfPath(path[0])
	from, _ := live.([]any)
	if !ok || index >= len(to) {
		return
	}
	at := indexOfName(from, nameOfElement(to[index]))
	if at < 0 {
		at = index
	}
	switch {
	case at >= len(from):
	case len(path) == 1:
		to[index] = from[at]
	default:
		keep(to[index], from[at], path[1:], ofElement(others, from[at], at))
	}
}

func nameOfElement(element any) string {
	fields, _ := element.(map[string]any)
	name, _ := fields["name"].(string)
	return name
}

// indexOfName returns the position of the element with a name; -1 without one.
func indexOfName(list []any, name string) int {
	for i, each := range list {
		if name != "" && nameOfElement(each) == name {
			return i
		}
	}
	return -1
}

// ofElement returns the fields of a set below an element of a list, by the key or the position of the element.
func ofElement(set *fieldpath.Set, element any, index int) *fieldpath.Set {
	out := &fieldpath.Set{}
	set.Children.Iterate(func(each fieldpath.PathElement) {
		if each.Key != nil && hasKey(element, each) || each.Index != nil && *each.Index == index {
			if below, ok := set.Children.Get(each); ok {
				out = out.Union(below)
			}
		}
	})
	return out
}

func hasKey(element any, key fieldpath.PathElement) bool {
	fields, _ := element.(map[string]any)
	for _, field := range *key.Key {
		if fmt.Sprint(fields[field.Name]) != fmt.Sprint(field.Value.Unstructured()) {
			return false
		}
	}
	return true
}

// indexOfPath returns the index that a key of a path names.
func indexOfPath(key any) (int, bool) {
	switch index := key.(type) {
	case int:
		return index, index >= 0
	case string:
		var out int
		if _, err := fmt.Sscanf(index, "%d", &out); err != nil {
			return 0, false
		}
		return out, out >= 0
	default:
		return 0, false
	}
}
