package report

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1 "github.com/berth-project/berth/api/work/v1"
)

// MaxBytes bounds a status: each write of it stores the whole work again.
const MaxBytes = 64 << 10

// trim shortens messages, and then removes feedback, until a status fits.
func trim(status workv1.ManifestWorkStatus, work Work) workv1.ManifestWorkStatus {
	meta.RemoveStatusCondition(&status.Conditions, workv1.WorkStatusTrimmed)
	for _, step := range []struct {
		message string
		cut     func(*workv1.ManifestCondition)
	}{
		{"Messages of manifests are cut: the status was larger than 64 KiB", cutMessages},
		{"Messages of manifests and all feedback are left out: the status was larger than 64 KiB", dropFeedback},
		{"All conditions of manifests but Applied are left out: the status was larger than 64 KiB", dropConditions},
	} {
		if size(status) <= MaxBytes {
			return status
		}
		for i := range status.ResourceStatus.Manifests {
			step.cut(&status.ResourceStatus.Manifests[i])
		}
		set(&status.Conditions, metav1.Condition{
			Type: workv1.WorkStatusTrimmed, Status: metav1.ConditionTrue, Reason: reasonTrimmed, Message: step.message,
		}, work)
	}
	return status
}

const cutTo = 64

func cutMessages(m *workv1.ManifestCondition) {
	for i := range m.Conditions {
		m.Conditions[i].Message = cut(m.Conditions[i].Message, cutTo)
	}
}

func dropFeedback(m *workv1.ManifestCondition) {
	for i := range m.Conditions {
		m.Conditions[i].Message = ""
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
