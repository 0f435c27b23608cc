package file

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// object is one parsed object of the input.
type object struct {
	*unstructured.Unstructured

	position Position
}

// title returns the kind and the name of the object: "Placement ns/name".
func (o object) title() string {
	name, _, _ := unstructured.NestedString(o.Object, "metadata", "name")
	namespace, _, _ := unstructured.NestedString(o.Object, "metadata", "namespace")
	if namespace != "" {
		name = namespace + "/" + name
	}
	return strings.TrimSpace(o.GetKind() + " " + name)
}

func (o object) fault(err error) Fault {
	return Fault{Position: o.position, Object: o.title(), Err: err}
}

var errNoObject = errors.New("is not an object: it must have apiVersion and kind, or be a List of objects")

// addValue adds an object, or the items of a List, recursively. kind is the kind of the items of a typed list that contains
// the value.
func (l *load) addValue(ctx context.Context, content any, place Position, kind schema.GroupVersionKind) {
	fields, ok := content.(map[string]any)
	if !ok {
		l.fail(Fault{Position: place, Err: errNoObject})
		return
	}
	made := object{&unstructured.Unstructured{Object: fields}, place}
	gvk, faults := kindOf(made, kind)
	if len(faults) > 0 {
		l.fail(faults...)
		return
	}
	items, isList := itemsOf(fields, gvk)
	if !isList {
		l.addObject(ctx, made)
		return
	}
	if items == nil && fields["items"] != nil {
		l.fail(made.fault(field.TypeInvalid(field.NewPath("items"), fields["items"], "must be a list of objects")))
		return
	}
	gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
	for i, item := range items {
		at := place
		at.Items = append(slices.Clone(place.Items), i)
		l.addValue(ctx, item, at, gvk)
	}
}

// itemsOf returns the items of a v1 List, or of any kind whose name ends in List and that has items.
func itemsOf(fields map[string]any, gvk schema.GroupVersionKind) (items []any, isList bool) {
	items, ok := fields["items"].([]any)
	if gvk == (schema.GroupVersionKind{Version: "v1", Kind: "List"}) {
		return items, true
	}
	_, found := fields["items"]
	return items, strings.HasSuffix(gvk.Kind, "List") && found && (ok || fields["items"] == nil)
}

// kindOf returns the kind of an object. An item of a typed list may omit it.
func kindOf(o object, in schema.GroupVersionKind) (schema.GroupVersionKind, []Fault) {
	if in.Kind != "" && o.Object["kind"] == nil && o.Object["apiVersion"] == nil {
		o.SetGroupVersionKind(in)
		return in, nil
	}
	var faults []Fault
	for _, name := range []string{"apiVersion", "kind"} {
		switch text, ok := o.Object[name].(string); {
		case o.Object[name] == nil || ok && text == "":
			faults = append(faults, o.fault(field.Required(field.NewPath(name), "every object has one")))
		case !ok:
			faults = append(faults, o.fault(field.TypeInvalid(field.NewPath(name), o.Object[name], "must be a string")))
		}
	}
	if len(faults) > 0 {
		return schema.GroupVersionKind{}, faults
	}
	version, err := schema.ParseGroupVersion(o.GetAPIVersion())
	if err != nil {
		return schema.GroupVersionKind{}, []Fault{o.fault(field.Invalid(field.NewPath("apiVersion"), o.GetAPIVersion(),
			"must be <group>/<version>"))}
	}
	return version.WithKind(o.GetKind()), nil
}

// kindTitle returns the name of a kind as in kubectl: "ConfigMap", "Deployment.apps".
func kindTitle(gvk schema.GroupVersionKind) string {
	if gvk.Group == "" {
		return gvk.Kind
	}
	return fmt.Sprintf("%s.%s", gvk.Kind, gvk.Group)
}
