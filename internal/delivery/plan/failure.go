package plan

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1 "github.com/berth-project/berth/api/work/v1"
)

// Failure is why an object of a work fails.
type Failure struct {
	// Manifest names the object: "Deployment shop/web". Position is its place in the work, from 1.
	Manifest string
	Position int
	// Condition is Applied where the agent could not write the object, and Degraded where the object fails.
	Condition string
	// Message is from the agent, without values of Secrets.
	Message string
	// Permanent means that trying the same again does not help.
	Permanent bool
	// Since is when the condition began.
	Since metav1.Time
}

// FailureOf returns the first failure of a work: a failure that retrying cannot mend, else a manifest that is not applied, else an object
// that fails. Ok is false where nothing fails.
func FailureOf(work *workv1.ManifestWork) (out Failure, ok bool) {
	manifest := firstFailure(work)
	if manifest == nil {
		return Failure{}, false
	}
	kind := workv1.WorkDegraded
	if meta.IsStatusConditionFalse(manifest.Conditions, workv1.WorkApplied) {
		kind = workv1.WorkApplied
	}
	condition := meta.FindStatusCondition(manifest.Conditions, kind)
	return Failure{
		Manifest: ManifestName(manifest.ResourceMeta), Position: int(manifest.ResourceMeta.Ordinal) + 1, Condition: kind,
		Message:   strings.TrimPrefix(condition.Message, workv1.PermanentFailurePrefix),
		Permanent: isFinal(manifest), Since: condition.LastTransitionTime,
	}, true
}

// ManifestName names an object of a work: "Deployment shop/web".
func ManifestName(object workv1.ManifestResourceMeta) string {
	name := object.Name
	if object.Namespace != "" {
		name = object.Namespace + "/" + name
	}
	return cmp.Or(object.Kind, "object") + " " + name
}
