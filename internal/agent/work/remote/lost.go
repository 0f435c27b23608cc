package remote

import (
	"bytes"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	workv1 "github.com/berth-project/berth/api/work/v1"
)

// maxLost bounds the fields and the managers that Lost returns.
const maxLost = 20

// Managed returns the fields that a manager owns by apply, in the form of managed fields; nil where it owns none.
func Managed(found *unstructured.Unstructured, manager string) []byte {
	for _, entry := range found.GetManagedFields() {
		if entry.Manager == manager && entry.Operation == metav1.ManagedFieldsOperationApply && entry.Subresource == "" && entry.FieldsV1 != nil {
			return entry.FieldsV1.GetRawBytes()
		}
	}
	return nil
}

// Lost returns which of the fields that a manager owned before it owns no more, and the other managers that own them now. Both
// are sorted and are names: no element of a list is named by its value, except by its field `name`.
func Lost(before []byte, found *unstructured.Unstructured, manager string) (managers, fields []string) {
	lost := setOf(before).Difference(setOf(Managed(found, manager)))
	lost.Leaves().Iterate(func(path fieldpath.Path) {
		if len(fields) < maxLost {
			fields = append(fields, nameOf(path))
		}
	})
	for _, entry := range found.GetManagedFields() {
		if entry.Manager == manager || entry.FieldsV1 == nil || len(managers) == maxLost {
			continue
		}
		if !setOf(entry.FieldsV1.GetRawBytes()).Intersection(lost).Empty() {
			managers = append(managers, entry.Manager)
		}
	}
	slices.Sort(managers)
	slices.Sort(fields)
	return slices.Compact(managers), slices.Compact(fields)
}

// WithoutMarks returns the fields that a manifest may have: the label of the record and the owner references are those of agents.
func WithoutMarks(fields []string) []string {
	return slices.DeleteFunc(slices.Clone(fields), func(name string) bool {
		return name == ".metadata.labels."+workv1.RecordLabel || strings.HasPrefix(name, ".metadata.ownerReferences")
	})
}

// setOf parses managed fields. What cannot be parsed is empty.
func setOf(text []byte) *fieldpath.Set {
	out := &fieldpath.Set{}
	if len(text) == 0 || out.FromJSON(bytes.NewReader(text)) != nil {
		return &fieldpath.Set{}
	}
	return out
}

// nameOf returns the name of a field, such as ".spec.containers[name=web].image".
func nameOf(path fieldpath.Path) string {
	var out strings.Builder
	for _, each := range path {
		switch {
		case each.FieldName != nil:
			out.WriteString("." + *each.FieldName)
		case each.Key != nil:
			out.WriteString("[" + keyName(each) + "]")
		default:
			out.WriteString("[]")
		}
	}
	return out.String()
}

// keyName returns the key of an element of a list: by its field `name`, else only which fields the key has.
func keyName(element fieldpath.PathElement) string {
	var names []string
	for _, field := range *element.Key {
		if field.Name == "name" && field.Value.IsString() {
			return "name=" + field.Value.AsString()
		}
		names = append(names, field.Name)
	}
	return strings.Join(names, ",")
}
