package delivery

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/internal/delivery/plan"
)

// status returns a status with the conditions Progressing and ManifestworkApplied, such as "Breached: 1 failed" and "NotAsExpected: a".
func status(revision, progressing, applied string) *workv1alpha1.ManifestWorkReplicaSetStatus {
	out := &workv1alpha1.ManifestWorkReplicaSetStatus{UpdateRevision: revision}
	for kind, text := range map[string]string{workv1alpha1.Progressing: progressing, workv1alpha1.ManifestworkApplied: applied} {
		reason, message, _ := strings.Cut(text, ": ")
		out.Conditions = append(out.Conditions, metav1.Condition{Type: kind, Reason: reason, Message: message})
	}
	return out
}

func aborted(of *workv1alpha1.ManifestWorkReplicaSetStatus) *workv1alpha1.ManifestWorkReplicaSetStatus {
	of.AbortedTime = new(metav1.NewTime(time.Date(2026, 11, 24, 10, 0, 0, 0, time.UTC)))
	return of
}

func TestEachChangeOfADeliveryHasOneEvent(t *testing.T) {
	const held, foreign = plan.PaceHold + ": 3 clusters", "Processing: x; " + plan.ForeignWorks + "a/web"
	waiting := status("1", "Waiting: w", "Processing: x")
	for sentence, test := range map[string]struct {
		before, after *workv1alpha1.ManifestWorkReplicaSetStatus
		want          string
	}{
		"the first status": {
			&workv1alpha1.ManifestWorkReplicaSetStatus{}, status("1", "Advancing: a", "Processing: x"),
			"Normal RolloutStarted The rollout of template 1 begins: a",
		},
		"another template": {
			waiting, status("2", "Advancing: a", "Processing: x"),
			"Normal RolloutStarted The rollout of template 2 begins: a",
		},
		"the count goes on":        {waiting, status("1", "Waiting: v", "Processing: y"), ""},
		"another phase on the way": {waiting, status("1", "Soaking: s", "Processing: x"), ""},
		"it finishes":              {waiting, status("1", "Finished: f", "AsExpected: x"), "Normal RolloutFinished f"},
		"it stays finished":        {status("1", "Finished: f", "AsExpected: x"), status("1", "Finished: g", "AsExpected: x"), ""},
		"it starts and finishes": {
			status("1", "Finished: f", "AsExpected: x"), status("2", "Finished: g", "AsExpected: x"),
			"Normal RolloutStarted The rollout of template 2 begins: g; Normal RolloutFinished g",
		},
		"it is breached": {
			waiting, status("1", "Breached: b", "NotAsExpected: 1 of 2 failed"),
			"Warning RolloutBreached b; 1 of 2 failed",
		},
		"it stays breached": {status("1", "Breached: b", "x: y"), status("1", "Breached: c", "x: z"), ""},
		"it is aborted": {
			status("1", "Breached: b", "x: y"), aborted(status("1", "Breached: The rollout is aborted", "x: y")),
			"Warning RolloutAborted The rollout is aborted",
		},
		"it is breached and aborted": {
			waiting, aborted(status("1", "Breached: The rollout is aborted", "x: y")),
			"Warning RolloutAborted The rollout is aborted",
		},
		"it stays aborted":  {aborted(status("1", "Breached: 1 of 2", "x: y")), aborted(status("1", "Breached: 2 of 2", "x: y")), ""},
		"the pace holds it": {waiting, status("1", "Advancing: "+held, "Processing: x"), "Warning RolloutHeld " + held},
		"the pace still holds it": {
			status("1", "Advancing: "+held, "Processing: x"),
			status("1", "Advancing: "+plan.PaceHold+": 2 clusters", "Processing: x"), "",
		},
		"a foreign work is found":     {waiting, status("1", "Waiting: w", foreign), "Warning ForeignWork " + plan.ForeignWorks + "a/web"},
		"the foreign work stays":      {status("1", "Waiting: w", foreign), status("1", "Waiting: w", foreign), ""},
		"a second foreign work comes": {status("1", "Waiting: w", foreign), status("1", "Waiting: w", foreign+", b/web"), ""},
	} {
		var got []string
		for _, event := range statusEvents(test.before, test.after) {
			got = append(got, event.Type+" "+event.Reason+" "+event.Note)
		}
		if text := strings.Join(got, "; "); text != test.want {
			t.Errorf("%s: %q, want %q", sentence, text, test.want)
		}
	}
}
