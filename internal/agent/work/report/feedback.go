package report

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1 "github.com/berth-project/berth/api/work/v1"
)

// setFeedback stores the values of the feedback rules.
func (b *built) setFeedback(m Manifest, work Work) {
	if len(m.Manifest.Settings.Feedback) == 0 {
		b.condition.StatusFeedbacks = workv1.StatusFeedbackResult{}
		setPlain(&b.condition.Conditions, metav1.Condition{
			Type: workv1.ManifestStatusFeedbackSynced, Status: metav1.ConditionTrue, Reason: "NoStatusFeedbackSynced",
		}, work.Now)
	}
}
