package report

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/agent/work/health"
	"github.com/berth-project/berth/internal/agent/work/object"
	"github.com/berth-project/berth/internal/agent/work/plan"
)

// maxManifestMessage bounds the messages of one manifest.
const maxManifestMessage = 512

// built is the status of one manifest, and what the conditions of the work need of it.
type built struct {
	condition workv1.ManifestCondition
	// name is that of the object in messages, message why it could not be applied.
	name, message string
	state         plan.State
	available     metav1.ConditionStatus
	health        health.State
	healthMessage string
	rules         []metav1.Condition
}

// build returns the status of a manifest. before is its last one; nil before the first.
func build(m Manifest, work Work, before *workv1.ManifestCondition) built {
	out := built{
		condition: workv1.ManifestCondition{ResourceMeta: metaOf(m.Manifest), Conditions: []metav1.Condition{}},
		name:      nameOf(m.Manifest), state: m.Verdict.State, message: cut(m.Verdict.Message, maxManifestMessage),
	}
	failure := "Failed to apply manifest: " + out.message
	if m.Verdict.Code.Final() {
		// The hub finds a permanent failure by the first word of the condition.
		out.message, failure = workv1.PermanentFailurePrefix+out.message, workv1.PermanentFailurePrefix+failure
	}
	if before != nil {
		out.condition.Conditions = append(out.condition.Conditions, before.Conditions...)
		out.condition.StatusFeedbacks = before.StatusFeedbacks
	}
	m.Object = readable(m.Object)
	into := &out.condition.Conditions
	switch m.Verdict.State {
	case plan.Pending: // the pass has not reached it
	case plan.Settled:
		setOfManifest(into, metav1.Condition{
			Type: workv1.WorkApplied, Status: metav1.ConditionTrue, Reason: "AppliedManifestComplete",
			Message: "Apply manifest complete",
		}, work)
	case plan.Failed:
		setOfManifest(into, metav1.Condition{
			Type: workv1.WorkApplied, Status: metav1.ConditionFalse, Reason: "AppliedManifestFailed",
			Message: failure,
		}, work)
	}
	condition := availableOf(m)
	out.available = condition.Status
	setPlain(into, condition, work.Now)
	if m.Object != nil {
		out.health, out.healthMessage = health.Of(m.Object)
	}
	out.setContended(m, work)
	out.setFeedback(m, work)
	out.setRules(m, work)
	return out
}

// readable returns an object without the values of a Secret, which no rule may report.
func readable(found *unstructured.Unstructured) *unstructured.Unstructured {
	if found == nil || found.GroupVersionKind().GroupKind().String() != "Secret" {
		return found
	}
	out := found.DeepCopy()
	delete(out.Object, "data")
	delete(out.Object, "stringData")
	out.SetAnnotations(nil) // kubectl keeps a copy of the object in one
	return out
}

// setOfManifest stores a condition of the generation. Its time is renewed with each generation.
func setOfManifest(conditions *[]metav1.Condition, condition metav1.Condition, work Work) {
	if before := meta.FindStatusCondition(*conditions, condition.Type); before != nil && before.ObservedGeneration != work.Generation {
		meta.RemoveStatusCondition(conditions, condition.Type)
	}
	condition.ObservedGeneration = work.Generation
	setPlain(conditions, condition, work.Now)
}

func setPlain(conditions *[]metav1.Condition, condition metav1.Condition, now time.Time) {
	condition.LastTransitionTime = metav1.NewTime(now.Truncate(time.Second))
	meta.SetStatusCondition(conditions, condition)
}

func metaOf(m object.Manifest) workv1.ManifestResourceMeta {
	return workv1.ManifestResourceMeta{
		Ordinal: int32(m.Ordinal), //nolint:gosec // a work has at most some thousand manifests
		Group:   m.Kind.Group, Version: m.Kind.Version, Kind: m.Kind.Kind,
		Resource: m.ID.Resource, Name: m.ID.Name, Namespace: m.ID.Namespace,
	}
}

// nameOf returns the name of a manifest in messages, such as "Deployment shop/web".
func nameOf(m object.Manifest) string {
	name := m.ID.Name
	if m.ID.Namespace != "" {
		name = m.ID.Namespace + "/" + name
	}
	return cmp.Or(m.Kind.Kind, "manifest") + " " + name
}

func availableOf(m Manifest) metav1.Condition {
	out := metav1.Condition{Type: workv1.WorkAvailable}
	switch {
	case m.Manifest.ID.Resource == "":
		out.Status, out.Reason, out.Message = metav1.ConditionUnknown, "IncompleteResourceMeta", "Resource meta is incomplete"
	case m.Unread != "":
		out.Status, out.Reason, out.Message = metav1.ConditionUnknown, "FetchingResourceFailed",
			cut("Failed to fetch resource: "+m.Unread, maxManifestMessage)
	case m.Object == nil:
		out.Status, out.Reason, out.Message = metav1.ConditionFalse, "ResourceNotAvailable", "Resource is not available"
	default:
		out.Status, out.Reason, out.Message = metav1.ConditionTrue, "ResourceAvailable", "Resource is available"
	}
	return out
}

// progressOf returns whether an object is changing. A failing object is changing too, since it has not reached its desired state.
func progressOf(b built) (status metav1.ConditionStatus, message string) {
	if rule := meta.FindStatusCondition(b.rules, workv1.WorkProgressing); rule != nil {
		return rule.Status, rule.Message
	}
	switch {
	case b.state == plan.Pending:
		return metav1.ConditionTrue, "is not applied yet"
	case b.state == plan.Failed:
		return metav1.ConditionTrue, "is not applied"
	case b.available != metav1.ConditionTrue:
		return b.missing()
	case b.health == health.Unknown:
		return metav1.ConditionUnknown, cut(b.healthMessage, maxManifestMessage)
	case b.health != health.Healthy:
		return metav1.ConditionTrue, cut(b.healthMessage, maxManifestMessage)
	default:
		return metav1.ConditionFalse, ""
	}
}

// missing returns the progress of an applied object that does not exist: a Job that ran and was removed is done.
func (b built) missing() (status metav1.ConditionStatus, message string) {
	switch {
	case b.available == metav1.ConditionUnknown:
		return metav1.ConditionUnknown, "was not read"
	case b.condition.ResourceMeta.Kind == "Job":
		return metav1.ConditionFalse, ""
	default:
		return metav1.ConditionTrue, "does not exist"
	}
}

func degradationOf(b built) (status metav1.ConditionStatus, message string) {
	if rule := meta.FindStatusCondition(b.rules, workv1.WorkDegraded); rule != nil {
		return rule.Status, rule.Message
	}
	if b.state == plan.Settled && b.available == metav1.ConditionTrue && b.health == health.Failing {
		return metav1.ConditionTrue, cut(b.healthMessage, maxManifestMessage)
	}
	return metav1.ConditionFalse, ""
}

// predecessor returns the last status of a manifest: that of the same object at the same position, else the only one of the same object.
func predecessor(before workv1.ManifestWorkStatus, m Manifest) *workv1.ManifestCondition {
	want := metaOf(m.Manifest)
	var found *workv1.ManifestCondition
	for i := range before.ResourceStatus.Manifests {
		each := &before.ResourceStatus.Manifests[i]
		have := each.ResourceMeta
		if have.Resource == "" || want.Resource == "" {
			have.Resource = want.Resource // the kind was not known
		}
		if have == want {
			return each
		}
		if have.Ordinal = want.Ordinal; have == want {
			if found != nil {
				return nil
			}
			found = each
		}
	}
	return found
}
