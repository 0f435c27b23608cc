package export

import (
	"maps"
	"strconv"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/membership/registration"
)

// moved returns an object as the target must have it in a generation, without its status. uids are the UIDs on the target by those on the
// source. A reference to an owner that is not moved is left out, because the garbage collector would delete the object.
func moved(k kind, source *unstructured.Unstructured, generation int64, uids func(types.UID) (types.UID, bool)) *unstructured.Unstructured {
	out := source.DeepCopy()
	unstructured.RemoveNestedField(out.Object, "status")
	for _, field := range []string{
		"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp",
		"deletionGracePeriodSeconds", "selfLink",
	} {
		unstructured.RemoveNestedField(out.Object, "metadata", field)
	}
	annotations := maps.Clone(source.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[clusterv1.OriginalUIDAnnotationKey] = registration.OriginalUID(source)
	delete(annotations, clusterv1.HandOverAnnotationKey)
	switch k.name {
	case kindLease: // a time of renewal shows that the agent has renewed it on the target
		unstructured.RemoveNestedField(out.Object, "spec", "renewTime")
	case kindNamespace:
		unstructured.RemoveNestedField(out.Object, "spec")
	case kindWork:
		if owner, ok := uids(types.UID(annotations[workv1.OwnerUIDAnnotation])); ok {
			annotations[workv1.OwnerUIDAnnotation] = string(owner)
		}
		if written, err := strconv.ParseInt(annotations[workv1.TemplateGenerationAnnotation], 10, 64); err == nil {
			annotations[workv1.TemplateGenerationAnnotation] = strconv.FormatInt(generationOn(written, source.GetGeneration(), generation), 10)
		}
	}
	out.SetAnnotations(annotations)
	out.SetOwnerReferences(movedOwners(source, uids))
	return out
}

// movedOwners returns the references to owners that are moved, with their UIDs on the target.
func movedOwners(source *unstructured.Unstructured, uids func(types.UID) (types.UID, bool)) []metav1.OwnerReference {
	var out []metav1.OwnerReference
	for _, reference := range source.GetOwnerReferences() {
		if uid, ok := uids(reference.UID); ok {
			reference.UID = uid
			out = append(out, reference)
		}
	}
	return out
}

// generationOn returns the generation on the target for one on the source: that of the present spec for that of the present spec, and an
// earlier one for any other.
func generationOn(observed, source, target int64) int64 {
	if observed >= source {
		return target
	}
	return target - 1
}

// movedStatus returns the status of an object for its generation on the target; nil where it has none.
func movedStatus(source *unstructured.Unstructured, generation int64) map[string]any {
	status, ok := source.Object["status"].(map[string]any)
	if !ok || len(status) == 0 {
		return nil
	}
	out, _ := withGenerations(status, source.GetGeneration(), generation).(map[string]any)
	return out
}

// withGenerations returns a value in which each observedGeneration is that of the target.
func withGenerations(value any, source, target int64) any {
	switch value := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(value))
		for key, each := range value {
			if observed, ok := each.(int64); ok && key == "observedGeneration" {
				out[key] = generationOn(observed, source, target)
				continue
			}
			out[key] = withGenerations(each, source, target)
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i, each := range value {
			out[i] = withGenerations(each, source, target)
		}
		return out
	default:
		return value
	}
}

// asWanted returns whether the target has an object as it must be. Fields that the API server owns are not compared.
func asWanted(stored, want *unstructured.Unstructured) bool {
	for key, value := range want.Object {
		if key != "metadata" && !equality.Semantic.DeepEqual(stored.Object[key], value) {
			return false
		}
	}
	return equality.Semantic.DeepEqual(stored.GetLabels(), want.GetLabels()) &&
		equality.Semantic.DeepEqual(stored.GetAnnotations(), want.GetAnnotations()) &&
		equality.Semantic.DeepEqual(stored.GetFinalizers(), want.GetFinalizers()) &&
		equality.Semantic.DeepEqual(stored.GetOwnerReferences(), want.GetOwnerReferences())
}
