package report

import (
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1 "github.com/berth-project/berth/api/work/v1"
)

// MaxBytes bounds a status: each write of it stores the whole work again.
const MaxBytes = 64 << 10

// trim shortens messages, then removes feedback, conditions and whole manifests, until a status fits. A manifest that is not applied
// comes first, and keeps the start of its message. What is equal in two passes stays equal, so that no pass writes what another wrote.
func trim(status workv1.ManifestWorkStatus, work Work) workv1.ManifestWorkStatus {
	whole := slices.Clone(status.Conditions)
	meta.RemoveStatusCondition(&whole, workv1.WorkStatusTrimmed)
	if untrimmed := (workv1.ManifestWorkStatus{Conditions: whole, ResourceStatus: status.ResourceStatus}); size(untrimmed) <= MaxBytes {
		return untrimmed
	}
	for _, step := range []struct {
		message string
		cut     func(*workv1.ManifestCondition)
	}{
		{"Messages of manifests are cut: the status was larger than 64 KiB", cutMessages},
		{"Messages of applied manifests and all feedback are left out: the status was larger than 64 KiB", dropFeedback},
		{"All conditions of manifests but Applied are left out: the status was larger than 64 KiB", dropConditions},
	} {
		for i := range status.ResourceStatus.Manifests {
			step.cut(&status.ResourceStatus.Manifests[i])
		}
		setTrimmed(&status, step.message, work)
		if size(status) <= MaxBytes {
			return status
		}
	}
	return dropManifests(status, work)
}

func setTrimmed(status *workv1.ManifestWorkStatus, message string, work Work) {
	set(&status.Conditions, metav1.Condition{
		Type: workv1.WorkStatusTrimmed, Status: metav1.ConditionTrue, Reason: reasonTrimmed,
		Message: message,
	}, work)
}

// dropManifests leaves out the last manifests, those that are applied before those that are not.
func dropManifests(status workv1.ManifestWorkStatus, work Work) workv1.ManifestWorkStatus {
	all := status.ResourceStatus.Manifests
	status.ResourceStatus.Manifests = nil
	setTrimmed(&status, fmt.Sprintf("Of %d manifests only the first are listed, those that are not applied before all others: the "+
		"status was larger than 64 KiB", len(all)), work)
	left := MaxBytes - size(status)
	kept := map[int32]bool{}
	for _, wanted := range []bool{false, true} {
		for i := range all {
			cost := size(workv1.ManifestWorkStatus{ResourceStatus: workv1.ManifestResourceStatus{Manifests: all[i : i+1]}})
			if isApplied(&all[i]) == wanted && cost <= left {
				left -= cost
				kept[all[i].ResourceMeta.Ordinal] = true
			}
		}
	}
	status.ResourceStatus.Manifests = slices.DeleteFunc(all, func(m workv1.ManifestCondition) bool { return !kept[m.ResourceMeta.Ordinal] })
	return status
}

func isApplied(m *workv1.ManifestCondition) bool {
	return meta.IsStatusConditionTrue(m.Conditions, workv1.WorkApplied)
}

const cutTo = 64

func cutMessages(m *workv1.ManifestCondition) {
	for i := range m.Conditions {
		m.Conditions[i].Message = cut(m.Conditions[i].Message, cutTo)
	}
}

func dropFeedback(m *workv1.ManifestCondition) {
	for i := range m.Conditions {
		if c := &m.Conditions[i]; c.Type != workv1.WorkApplied || c.Status == metav1.ConditionTrue {
			c.Message = ""
		}
	}
	m.StatusFeedbacks = workv1.StatusFeedbackResult{}
}

func dropConditions(m *workv1.ManifestCondition) {
	kept := m.Conditions[:0]
	for _, condition := range m.Conditions {
		if condition.Type == workv1.WorkApplied {
			kept = append(kept, condition)
		}
	}
	m.Conditions = kept
}

// size returns the bytes of a status on the wire.
func size(status workv1.ManifestWorkStatus) int {
	text, err := json.Marshal(status)
	if err != nil {
		return 0 // a status always has a JSON form
	}
	return len(text)
}
