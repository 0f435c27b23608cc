package delivery

import (
	"strings"
	"testing"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	rolloutv1alpha1 "github.com/berth-project/berth/api/rollout/v1alpha1"
)

// TestEachNewDecisionHasOneEvent: with who, what and why, and without a name that the API server does not verify.
func TestEachNewDecisionHasOneEvent(t *testing.T) {
	type spec = rolloutv1alpha1.RolloutControlSpec
	forgiven := func(clusters ...string) []rolloutv1alpha1.ForgivenCluster {
		var out []rolloutv1alpha1.ForgivenCluster
		for _, name := range clusters {
			out = append(out, rolloutv1alpha1.ForgivenCluster{Cluster: name, Revision: "r", Reason: "disk full", By: "jane"})
		}
		return out
	}
	approval := rolloutv1alpha1.GroupApproval{
		MandatoryDecisionGroup: clusterv1alpha1.MandatoryDecisionGroup{GroupName: "canary"}, Placement: "p", Revision: "r",
		For: rolloutv1alpha1.ApprovalStart, By: "jane",
	}
	proof := approval
	proof.For, proof.Reason = rolloutv1alpha1.ApprovalProof, "it is empty"
	paused := &spec{Paused: true, PausedBy: "jane", PauseReason: "Friday"}
	for sentence, test := range map[string]struct {
		before, after *spec
		unverified    bool
		want          string
	}{
		"nothing": {want: ""},
		"a pause": {after: paused, want: "RolloutPaused The rollout is paused by jane: Friday"},
		"a pause that stays": {before: paused, after: &spec{
			Paused: true, PausedBy: "jane", PauseReason: "Friday",
			Forgiven: forgiven("a"),
		}, want: "FailureForgiven The failure of cluster a is forgiven by jane: disk full"},
		"a resume":              {before: paused, after: &spec{PausedBy: "joe"}, want: "RolloutResumed The rollout is resumed by joe"},
		"the object is deleted": {before: paused, want: "RolloutResumed The rollout is resumed"},
		"a second cluster": {
			before: &spec{Forgiven: forgiven("a")}, after: &spec{Forgiven: forgiven("a", "b")},
			want: "FailureForgiven The failure of cluster b is forgiven by jane: disk full",
		},
		"an entry goes":              {before: &spec{Forgiven: forgiven("a", "b")}, after: &spec{Forgiven: forgiven("b")}, want: ""},
		"a name that may be claimed": {after: paused, unverified: true, want: "RolloutPaused The rollout is paused: Friday"},
		"approvals": {
			after: &spec{Approvals: []rolloutv1alpha1.GroupApproval{approval, proof}},
			want: "GroupApproved The group with groupName canary of Placement p, which may start now, is approved by jane; " +
				"GroupApproved The group with groupName canary of Placement p, which is passed without a proof, is approved by jane: it is empty",
		},
		"a return": {
			after: &spec{ReturnNow: &rolloutv1alpha1.TemplateDecision{Revision: "r", By: "jane"}},
			want:  "ReturnedAtOnce The return to template r at once is decided by jane",
		},
		"an end without missing clusters": {
			after: &spec{WithoutMissing: &rolloutv1alpha1.TemplateDecision{Revision: "r", By: "jane"}},
			want:  "FinishesWithoutMissing The end of the rollout of template r without the missing clusters is decided by jane",
		},
		"a start without a way back": {
			after: &spec{WithoutFormer: &rolloutv1alpha1.TemplateDecision{Revision: "r", By: "jane"}},
			want:  "StartsWithoutFormer The start of template r without a way back is decided by jane",
		},
	} {
		var got []string
		for _, event := range decisionEvents(test.before, test.after, !test.unverified) {
			got = append(got, event.Reason+" "+event.Note)
		}
		if text := strings.Join(got, "; "); text != test.want {
			t.Errorf("%s: %q, want %q", sentence, text, test.want)
		}
	}
	many := &spec{}
	for range 300 {
		many.Forgiven = append(many.Forgiven, forgiven("a")...)
	}
	if got := len(decisionEvents(nil, many, true)); got != 50 {
		t.Errorf("%d events of one change, want a bound", got)
	}
}
