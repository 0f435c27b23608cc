package report_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/internal/delivery/report"
	"github.com/berth-project/berth/internal/kube/hold"
)

// TestHolds: a set that stands still for a reason that a person can end has one hold, with the command that ends it.
func TestHolds(t *testing.T) {
	const release = "kubectl berth holds release manifestworkreplicaset/web -n shop --reason WHY"
	cases := map[string]struct {
		status  metav1.ConditionStatus
		reason  string
		aborted bool
		kind    hold.Type
		end     string
	}{
		"a breach":            {"False", "Breached", false, hold.Breach, release},
		"an aborted rollout":  {"False", "Breached", true, hold.Breach, "another template: the rollout was aborted, and its clusters have returned"},
		"an unproven group":   {"False", "MandatoryGroupUnproven", false, hold.UnprovenGroup, release},
		"a pause":             {"False", "Paused", false, "", ""},
		"a failed rollout":    {"False", "Failed", false, "", ""},
		"a rollout under way": {"True", "Advancing", false, "", ""},
		"no condition":        {},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			since := metav1.NewTime(time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC))
			set := &workv1alpha1.ManifestWorkReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
			if c.reason != "" {
				set.Status.Conditions = []metav1.Condition{
					{Type: workv1alpha1.Progressing, Status: c.status, Reason: c.reason, Message: "why", LastTransitionTime: since},
				}
			}
			if c.aborted {
				set.Status.AbortedTime = &since
			}
			got := report.Holds(set)
			if c.kind == "" {
				if len(got) > 0 {
					t.Errorf("%+v, want none", got)
				}
				return
			}
			if len(got) != 1 || got[0].Type != c.kind || got[0].End != c.end || got[0].Cause != "why" || !got[0].Since.Equal(&since) {
				t.Errorf("%+v, want %s that ends with %s", got, c.kind, c.end)
			}
		})
	}
}
