package admission

import (
	"context"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

var count atomic.Int64

// unique returns a part of a name that no other test uses.
func unique() string { return "u" + strconv.FormatInt(count.Add(1), 10) }

func asObject(content map[string]any) *unstructured.Unstructured {
	return (&unstructured.Unstructured{Object: content}).DeepCopy()
}

func object(kind, version, namespace, name string) map[string]any {
	metadata := map[string]any{"name": name}
	if namespace != "" {
		metadata["namespace"] = namespace
	}
	return map[string]any{"apiVersion": group + "/" + version, "kind": kind, "metadata": metadata}
}

// option changes an object.
type option func(*unstructured.Unstructured)

func with(content map[string]any, options ...option) map[string]any {
	out := asObject(content)
	for _, option := range options {
		option(out)
	}
	return out.Object
}

// labels sets labels, given as alternating keys and values.
func labels(pairs ...string) option {
	return func(u *unstructured.Unstructured) {
		made := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			made[pairs[i]] = pairs[i+1]
		}
		u.SetLabels(made)
	}
}

// accepted turns hubAcceptsClient on.
func accepted(u *unstructured.Unstructured) {
	_ = unstructured.SetNestedField(u.Object, true, "spec", "hubAcceptsClient")
}

// taints sets the taints, each "key:effect" or "key:effect@time".
func taints(written ...string) option {
	return func(u *unstructured.Unstructured) {
		made := make([]any, 0, len(written))
		for _, text := range written {
			taint, added, timed := strings.Cut(text, "@")
			key, effect, _ := strings.Cut(taint, ":")
			one := map[string]any{"key": key, "effect": effect}
			if timed {
				one["timeAdded"] = added
			}
			made = append(made, one)
		}
		_ = unstructured.SetNestedSlice(u.Object, made, "spec", "taints")
	}
}

func cluster(name string, options ...option) map[string]any {
	return with(object("ManagedCluster", "v1", "", name), options...)
}

func set(name string, selector map[string]any) map[string]any {
	out := object("ManagedClusterSet", "v1beta2", "", name)
	if selector != nil {
		out["spec"] = map[string]any{"clusterSelector": selector}
	}
	return out
}

func binding(namespace, name, of string) map[string]any {
	out := object("ManagedClusterSetBinding", "v1beta2", namespace, name)
	out["spec"] = map[string]any{"clusterSet": of}
	return out
}

func placement(namespace, name string, spec map[string]any) map[string]any {
	out := object("Placement", "v1beta1", namespace, name)
	out["spec"] = spec
	return out
}

// cel returns predicates of one expression.
func cel(expression string) []any {
	return []any{map[string]any{"requiredClusterSelector": map[string]any{"celSelector": map[string]any{"celExpressions": []any{expression}}}}}
}

// update reads an object, changes it and updates it, and retries on conflicts.
func (u *user) update(t *testing.T, content map[string]any, subresource string, change option) error {
	t.Helper()
	var subresources []string
	if subresource != "" {
		subresources = append(subresources, subresource)
	}
	for {
		stored := u.stored(t, content)
		change(stored)
		_, err := u.resourceFor(content).Update(t.Context(), stored, metav1.UpdateOptions{}, subresources...)
		if err == nil || !strings.Contains(err.Error(), "the object has been modified") { // a controller has changed the object
			return err
		}
	}
}

func (u *user) apply(ctx context.Context, content map[string]any, subresources ...string) error {
	o := asObject(content)
	_, err := u.resourceFor(content).Apply(ctx, o.GetName(), o, metav1.ApplyOptions{FieldManager: u.name, Force: true}, subresources...)
	return err
}

// taintTimes returns the times of a cluster's taints.
func taintTimes(u *unstructured.Unstructured) []string {
	list, _, _ := unstructured.NestedSlice(u.Object, "spec", "taints")
	var out []string
	for _, taint := range list {
		added, _, _ := unstructured.NestedString(taint.(map[string]any), "timeAdded")
		out = append(out, added)
	}
	return out
}
