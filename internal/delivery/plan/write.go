package plan

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	workv1 "github.com/berth-project/berth/api/work/v1"
)

// Verb is what a write does.
type Verb string

const (
	// Create creates a work.
	Create Verb = "Create"
	// Update replaces the spec of a work.
	Update Verb = "Update"
	// UpdateMetadata changes labels and annotations, which changes nothing on the member.
	UpdateMetadata Verb = "UpdateMetadata"
	// Delete deletes a work.
	Delete Verb = "Delete"
)

// Verbs returns all verbs.
func Verbs() []Verb { return []Verb{Create, Update, UpdateMetadata, Delete} }

// String returns the verb as metrics and logs have it.
func (v Verb) String() string { return string(v) }

// Write is one change of one work.
type Write struct {
	Verb          Verb
	Cluster, Name string
	// UID and ResourceVersion are of the work that the write was decided from; empty for Create.
	UID             types.UID
	ResourceVersion string
	// Labels and Annotations are set, RemovedLabels are removed.
	Labels, Annotations map[string]string
	RemovedLabels       []string
	// Revision is the hash of the template that a Create or an Update writes, Hash that of what it becomes on the cluster.
	Revision, Hash string

	// Bare means that the stored work has no annotation yet.
	Bare bool
}

// Object returns the work that a Create stores.
func (w Write) Object(spec *workv1.ManifestWorkSpec) *workv1.ManifestWork {
	return &workv1.ManifestWork{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.Cluster, Name: w.Name, Labels: maps.Clone(w.Labels), Annotations: maps.Clone(w.Annotations),
			// The hub adds the finalizer of the agent, which saves the agent a write.
			Finalizers: []string{workv1.ManifestWorkFinalizer},
		},
		Spec: *spec.DeepCopy(),
	}
}

// Patch returns the patch of an Update or UpdateMetadata. It conflicts where another client wrote first.
func (w Write) Patch(spec *workv1.ManifestWorkSpec) (types.PatchType, []byte, error) {
	var body any
	kind := types.MergePatchType
	if w.Verb == Update {
		// A merge patch would keep the fields that the new spec lacks.
		kind, body = types.JSONPatchType, w.operations(spec)
	} else {
		body = w.metadata()
	}
	out, err := json.Marshal(body)
	if err != nil {
		return "", nil, fmt.Errorf("encoding the patch of ManifestWork %s/%s: %w", w.Cluster, w.Name, err)
	}
	return kind, out, nil
}

// operation is one operation of a JSON patch (RFC 6902).
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

func (w Write) operations(spec *workv1.ManifestWorkSpec) []operation {
	out := []operation{
		{"replace", "/metadata/uid", w.UID},
		{"replace", "/metadata/resourceVersion", w.ResourceVersion},
		{"add", "/spec", spec},
	}
	if w.Bare {
		out = append(out, operation{"add", "/metadata/annotations", map[string]string{}})
	}
	for field, values := range map[string]map[string]string{"labels": w.Labels, "annotations": w.Annotations} {
		for _, key := range slices.Sorted(maps.Keys(values)) {
			out = append(out, operation{"add", "/metadata/" + field + "/" + escaper().Replace(key), values[key]})
		}
	}
	return out
}

// escaper escapes a key for a JSON pointer.
func escaper() *strings.Replacer { return strings.NewReplacer("~", "~0", "/", "~1") }

func (w Write) metadata() map[string]any {
	labels, annotations := map[string]any{}, map[string]string{} // null would remove all of them
	for key, value := range w.Labels {
		labels[key] = value
	}
	for _, key := range w.RemovedLabels {
		labels[key] = nil
	}
	maps.Copy(annotations, w.Annotations)
	return map[string]any{"metadata": map[string]any{
		"uid": w.UID, "resourceVersion": w.ResourceVersion, "labels": labels, "annotations": annotations,
	}}
}
