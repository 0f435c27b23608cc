package export

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// rivalries are the objects on the member that works of one cluster have, written within a second.
type rivalries struct {
	// last is the greatest name of a work by object.
	last map[string]string
}

func newRivalries() *rivalries { return &rivalries{last: map[string]string{}} }

// overtakes records a work, and returns whether an earlier one with the same object has a greater name.
func (r *rivalries) overtakes(work object) bool {
	out := false
	for _, id := range objectsOf(work) {
		out = out || r.last[id] > work.GetName()
		r.last[id] = max(r.last[id], work.GetName())
	}
	return out
}

// objectsOf returns the objects in the manifests of a work, by kind, namespace and name.
func objectsOf(work object) []string {
	manifests, _, _ := unstructured.NestedSlice(work.Object, "spec", "workload", "manifests") // another form has no objects
	var out []string
	for _, each := range manifests {
		if fields, ok := each.(map[string]any); ok {
			manifest := &unstructured.Unstructured{Object: fields}
			out = append(out, manifest.GroupVersionKind().GroupKind().String()+" "+keyOf(manifest))
		}
	}
	return out
}
