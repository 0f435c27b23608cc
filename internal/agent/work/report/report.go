// Package report computes the status of a work from what was applied and from how the objects of the member are.
//
// It is pure. The invariants: a status names the generation that it was computed for; Progressing and Degraded are always there; no
// message has a value of a Secret, or an instant; equal facts give an equal status.
package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/agent/work/object"
	"github.com/berth-project/berth/internal/agent/work/plan"
)

// Reasons of the conditions of a work.
const (
	reasonApplied        = "AppliedManifestWorkComplete"
	reasonNotApplied     = "AppliedManifestWorkFailed"
	reasonAvailable      = "ResourcesAvailable"
	reasonNotAvailable   = "ResourcesNotAvailable"
	reasonUnknown        = "ResourcesStatusUnknown"
	reasonApplying       = "Applying"
	reasonCompleted      = "Completed"
	reasonFailed         = "Failed"
	reasonAggregated     = "ConditionRulesAggregated"
	reasonDeleting       = "WorkDeleting"
	reasonTrimmed        = "StatusTooLarge"
	maxMessage           = 1024
	listedInMessage      = 3
	maxNext              = 100
	messageDeletingStart = "ManifestWork is being deleted"
)

// Manifest is what is reported about one manifest.
type Manifest struct {
	Manifest object.Manifest
	Verdict  plan.Verdict
	// Object is the object of the member; nil where it does not exist or was not read.
	Object *unstructured.Unstructured
	// Unread is why it was not read; empty where it was.
	Unread string
	// Rival is the client that changes the object again and again.
	Rival Rival
}

// Work is what a status is computed from.
type Work struct {
	Generation int64
	Now        time.Time
	Manifests  []Manifest
	// Evaluator evaluates the rules of the manifests.
	Evaluator *Evaluator
}

// Status returns the next status. before is the last one; it keeps the times of what has not changed, and what the pass has not reached.
func Status(before workv1.ManifestWorkStatus, work Work) workv1.ManifestWorkStatus {
	out := workv1.ManifestWorkStatus{Conditions: slices.Clone(before.Conditions)}
	built := make([]built, len(work.Manifests))
	for i, m := range work.Manifests {
		built[i] = build(m, work, predecessor(before, m))
		out.ResourceStatus.Manifests = append(out.ResourceStatus.Manifests, built[i].condition)
	}
	meta.RemoveStatusCondition(&out.Conditions, workv1.WorkDeleting)
	for _, condition := range conditions(built) {
		set(&out.Conditions, condition, work)
	}
	removeOldRules(&out.Conditions, work.Generation)
	return trim(out, work)
}

// Deleting returns the status of a work that is being deleted: what it waits for, and what stays on the member.
func Deleting(before workv1.ManifestWorkStatus, generation int64, now time.Time, waits, kept []string) workv1.ManifestWorkStatus {
	out := workv1.ManifestWorkStatus{Conditions: slices.Clone(before.Conditions), ResourceStatus: before.ResourceStatus}
	message := messageDeletingStart
	if len(waits) > 0 {
		message += "; waiting for " + list(waits)
	}
	if len(kept) > 0 {
		message += "; kept on the member: " + list(kept)
	}
	set(&out.Conditions, metav1.Condition{Type: workv1.WorkDeleting, Status: metav1.ConditionTrue, Reason: reasonDeleting, Message: message},
		Work{Generation: generation, Now: now})
	return out
}

// set stores a condition for the generation. The time of a False Progressing is never older than its generation, because rollouts count
// from it.
func set(conditions *[]metav1.Condition, condition metav1.Condition, work Work) {
	condition.ObservedGeneration, condition.LastTransitionTime = work.Generation, metav1.NewTime(work.Now.Truncate(time.Second))
	condition.Message = cut(condition.Message, maxMessage)
	if before := meta.FindStatusCondition(*conditions, condition.Type); before != nil &&
		condition.Type == workv1.WorkProgressing && before.ObservedGeneration != work.Generation {
		meta.RemoveStatusCondition(conditions, condition.Type)
	}
	meta.SetStatusCondition(conditions, condition)
}

// removeOldRules removes the conditions of rules of an earlier generation.
func removeOldRules(conditions *[]metav1.Condition, generation int64) {
	*conditions = slices.DeleteFunc(*conditions, func(each metav1.Condition) bool {
		return strings.HasPrefix(each.Reason, "ConditionRule") && each.ObservedGeneration != generation
	})
}

// conditions returns the conditions of the work.
func conditions(all []built) []metav1.Condition {
	var out []metav1.Condition
	if applied, ok := applied(all); ok {
		out = append(out, applied, available(all))
	}
	out = append(out, progressing(all), degraded(all))
	return append(out, ruled(all)...)
}

// applied returns the condition Applied, and false while a manifest is pending.
func applied(all []built) (metav1.Condition, bool) {
	var failed []string
	for _, each := range all {
		switch each.state {
		case plan.Pending:
			return metav1.Condition{}, false
		case plan.Settled:
		case plan.Failed:
			failed = append(failed, each.name+": "+each.message)
		}
	}
	out := metav1.Condition{
		Type: workv1.WorkApplied, Status: metav1.ConditionTrue, Reason: reasonApplied,
		Message: "Apply manifest work complete",
	}
	switch {
	case len(all) == 0:
		out.Status, out.Reason, out.Message = metav1.ConditionFalse, reasonNotApplied, "The work has no manifests; what it created before is kept"
	case len(failed) > 0:
		out.Status, out.Reason = metav1.ConditionFalse, reasonNotApplied
		out.Message = fmt.Sprintf("Failed to apply manifest work: %d of %d failed: %s", len(failed), len(all), list(failed))
	}
	return out, true
}

func available(all []built) metav1.Condition {
	missing, unknown := 0, 0
	for _, each := range all {
		switch each.available {
		case metav1.ConditionTrue:
		case metav1.ConditionFalse:
			missing++
		case metav1.ConditionUnknown:
			unknown++
		}
	}
	out := metav1.Condition{
		Type: workv1.WorkAvailable, Status: metav1.ConditionTrue, Reason: reasonAvailable,
		Message: "All resources are available",
	}
	switch {
	case missing > 0:
		out.Status, out.Reason = metav1.ConditionFalse, reasonNotAvailable
		out.Message = fmt.Sprintf("%d of %d resources are not available", missing, len(all))
	case unknown > 0 || len(all) == 0:
		out.Status, out.Reason = metav1.ConditionUnknown, reasonUnknown
		out.Message = fmt.Sprintf("%d of %d resources have unknown status", unknown, len(all))
	}
	return out
}

func progressing(all []built) metav1.Condition {
	out := metav1.Condition{
		Type: workv1.WorkProgressing, Status: metav1.ConditionFalse, Reason: reasonCompleted,
		Message: "All resources are in their desired state",
	}
	changing, unknown, failing := picked(all, progressOf)
	switch {
	case len(changing) > 0:
		out.Status, out.Reason = metav1.ConditionTrue, reasonApplying
		if failing {
			out.Reason = reasonFailed
		}
		out.Message = fmt.Sprintf("%d of %d resources are changing: %s", len(changing), len(all), list(changing))
	case len(unknown) > 0:
		out.Status, out.Reason = metav1.ConditionUnknown, reasonUnknown
		out.Message = fmt.Sprintf("%d of %d resources have unknown status: %s", len(unknown), len(all), list(unknown))
	}
	return out
}

func degraded(all []built) metav1.Condition {
	out := metav1.Condition{
		Type: workv1.WorkDegraded, Status: metav1.ConditionFalse, Reason: reasonCompleted,
		Message: "No resource is failing",
	}
	failing, unknown, _ := picked(all, degradationOf)
	switch {
	case len(failing) > 0:
		out.Status, out.Reason = metav1.ConditionTrue, reasonFailed
		out.Message = fmt.Sprintf("%d of %d resources are failing: %s", len(failing), len(all), list(failing))
	case len(unknown) > 0:
		out.Status, out.Reason = metav1.ConditionUnknown, reasonUnknown
		out.Message = fmt.Sprintf("%d of %d resources have unknown status: %s", len(unknown), len(all), list(unknown))
	}
	return out
}

// picked returns the objects whose verdict is True, those where it is Unknown, and whether an object is failing.
func picked(all []built, of func(built) (metav1.ConditionStatus, string)) (yes, unknown []string, failing bool) {
	for _, each := range all {
		status, message := of(each)
		switch status {
		case metav1.ConditionFalse:
		case metav1.ConditionTrue:
			yes = append(yes, each.name+": "+message)
		case metav1.ConditionUnknown:
			unknown = append(unknown, each.name+": "+message)
		}
		if bad, _ := degradationOf(each); bad == metav1.ConditionTrue {
			failing = true
		}
	}
	return yes, unknown, failing
}

// ruled returns the conditions that only rules define: False where one manifest is False, else Unknown where one is, else True.
func ruled(all []built) []metav1.Condition {
	byType := map[string][]metav1.Condition{}
	var order []string
	for _, each := range all {
		for _, condition := range each.rules {
			if condition.Type == workv1.WorkProgressing || condition.Type == workv1.WorkDegraded {
				continue
			}
			if byType[condition.Type] == nil {
				order = append(order, condition.Type)
			}
			byType[condition.Type] = append(byType[condition.Type], condition)
		}
	}
	slices.Sort(order)
	var out []metav1.Condition
	for _, kind := range order {
		found := byType[kind]
		condition := metav1.Condition{
			Type: kind, Status: metav1.ConditionTrue, Reason: reasonAggregated,
			Message: fmt.Sprintf("Aggregated from %d manifest conditions", len(found)),
		}
		if len(found) == 1 {
			condition.Message = found[0].Message
		}
		for _, status := range []metav1.ConditionStatus{metav1.ConditionUnknown, metav1.ConditionFalse} {
			if slices.ContainsFunc(found, func(each metav1.Condition) bool { return each.Status == status }) {
				condition.Status = status
			}
		}
		out = append(out, condition)
	}
	return out
}

// list joins the first few texts, sorted, and counts the others.
func list(all []string) string {
	all = slices.Sorted(slices.Values(all))
	if more := len(all) - listedInMessage; more > 0 {
		return fmt.Sprintf("%s; and %d more", strings.Join(all[:listedInMessage], "; "), more)
	}
	return strings.Join(all, "; ")
}

// Cut returns the message of an error, short enough that a text about the next attempt fits behind it.
func Cut(message string) string { return cut(message, maxManifestMessage-maxNext) }

// cut returns a text of at most limit bytes.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit-3], "") + "..."
}
