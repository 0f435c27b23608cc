package plan

import (
	"testing"
	"time"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/agent/work/object"
)

// TestAWebhookWaitsForItsWorkload plans a work of a Deployment and a webhook configuration.
func TestAWebhookWaitsForItsWorkload(t *testing.T) {
	now := time.Unix(1e6, 0)
	server := object.ID{Group: "apps", Resource: "deployments", Namespace: "n", Name: "server"}
	webhook := object.ID{Group: "admissionregistration.k8s.io", Resource: "validatingwebhookconfigurations", Name: "webhook"}
	policy := object.ID{Group: "admissionregistration.k8s.io", Resource: "validatingadmissionpolicies", Name: "policy"}
	for sentence, test := range map[string]struct {
		last    object.ID
		healthy bool
		exists  bool
		since   time.Duration
		applied bool
	}{
		"no pod serves":                   {last: webhook},
		"its pods serve":                  {last: webhook, healthy: true, applied: true},
		"no pod serves for half a minute": {last: webhook, since: ApplyWait, applied: true},
		"it exists, with another content": {last: webhook, exists: true, applied: true},
		"a policy calls no webhook":       {last: policy, applied: true},
	} {
		t.Run(sentence, func(t *testing.T) {
			in := Input{Now: now, Work: "w", Recorded: true, Objects: map[object.ID]Object{}, Since: map[Stage]time.Time{}}
			for i, id := range []object.ID{server, test.last} {
				in.Manifests = append(in.Manifests, object.Manifest{
					Ordinal: i, ID: id, Hash: "h", Settings: object.Settings{Strategy: workv1.UpdateStrategy{Type: object.Update}},
				})
				in.Record = append(in.Record, Entry{ID: id})
			}
			in.Record[0] = Entry{ID: server, UID: "s", Hash: "h", Fields: "f"}
			in.Objects[server] = Object{UID: "s", Labelled: true, Owned: true, Fields: "f", Serving: true, Healthy: test.healthy}
			if test.exists {
				in.Record[1] = Entry{ID: test.last, UID: "w", Hash: "old", Fields: "f"}
				in.Objects[test.last] = Object{UID: "w", Labelled: true, Owned: true, Fields: "f", Serving: true}
			}
			if test.since > 0 {
				in.Since[Stage{Rank: object.RankExtension}] = now.Add(-test.since)
			}
			step := Plan(in)
			if got := len(step.Calls) == 1 && step.Calls[0].Verb == Apply && step.Calls[0].Entry.ID == test.last; got != test.applied {
				t.Errorf("the calls are %+v, the wait is %+v", step.Calls, step.Wait)
			}
			if !test.applied && (step.Wait == nil || step.Wait.Objects[0] != server || !step.Again.Equal(now.Add(ApplyWait))) {
				t.Errorf("the wait is %+v, again at %v", step.Wait, step.Again)
			}
		})
	}
}
