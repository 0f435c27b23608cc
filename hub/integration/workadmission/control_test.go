package workadmission

import (
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/berth-project/berth/hub/hubtest/kit"
)

var controls = schema.GroupVersionResource{Group: "rollout.berth-project.io", Version: "v1alpha1", Resource: "rolloutcontrols"}

// TestAUserDecidesInTheOwnName: the user of a new decision on a rollout is the user of the request, whatever the client claims, and a
// decision that is not new keeps its user. Users who may impersonate others are not bound, so that they can restore backups.
func TestAUserDecidesInTheOwnName(t *testing.T) {
	createNamespace(t, team)
	jane := newUser(t, "jane")
	bind(t, jane, team, "berth:rollout:operator")
	awaitAllowed(t, jane, nil, authorizationv1.ResourceAttributes{
		Verb: "update", Group: controls.Group, Resource: controls.Resource,
		Namespace: team,
	})
	awaitAllowed(t, jane, nil, authorizationv1.ResourceAttributes{
		Verb: "list", Group: "apps", Resource: "controllerrevisions", Namespace: team,
	})
	const kind = "{apiVersion: rollout.berth-project.io/v1alpha1, kind: RolloutControl, metadata: {namespace: team, name: "
	jim := newUser(t, "jim")
	bind(t, jim, team, "berth:delivery:editor")
	awaitAllowed(t, jim, nil, authorizationv1.ResourceAttributes{
		Verb: "list", Group: controls.Group, Resource: controls.Resource, Namespace: team,
	})
	err := jim.dryRun(t, controls, kit.Parse(t, kind+"new}, spec: {paused: true, pausedBy: jim}}"))
	wantRefused(t, err, 403, `cannot create resource "rolloutcontrols"`) // who writes sets does not decide about rollouts
	const at = "time: '2026-11-24T10:00:00.000000Z'"
	const approval = "groupName: canary, placement: p, revision: r, for: Start"
	mustCreate(t, controls, kit.Parse(t, kind+"stored}, spec: {paused: true, pausedBy: joe, returnNow: {"+at+
		", revision: r, by: joe}, approvals: [{"+approval+", by: joe}], "+
		"forgiven: [{cluster: a, revision: r, reason: x, by: joe}]}}"))
	for sentence, test := range map[string]struct{ spec, refused string }{
		"a pause in the own name":                     {"{paused: true, pausedBy: jane}", ""},
		"a pause in another name":                     {"{paused: true, pausedBy: joe}", "set spec.pausedBy to jane"},
		"a pause without a name":                      {"{paused: true}", "set spec.pausedBy to jane"},
		"an approval in another name":                 {"{approvals: [{" + approval + ", by: joe}]}", "spec.forgiven to jane"},
		"an approval in the own name":                 {"{approvals: [{" + approval + ", by: jane}]}", ""},
		"a forgiven cluster without a name":           {"{forgiven: [{cluster: a, revision: r, reason: x}]}", "spec.forgiven to jane"},
		"a forgiven cluster in the own name":          {"{forgiven: [{cluster: a, revision: r, reason: x, by: jane}]}", ""},
		"a return in another name":                    {"{returnNow: {" + at + ", revision: r, by: joe}}", "set spec.returnNow.by to jane"},
		"a return in the own name":                    {"{returnNow: {" + at + ", revision: r, by: jane}}", ""},
		"a start without a way back, without a name":  {"{withoutFormer: {" + at + ", revision: r}}", "set spec.withoutFormer.by to jane"},
		"a start without a way back":                  {"{withoutFormer: {" + at + ", revision: r, by: jane}}", ""},
		"an end without missing ones, without a name": {"{withoutMissing: {" + at + ", revision: r}}", "set spec.withoutMissing.by to jane"},
		"an end without missing ones":                 {"{withoutMissing: {" + at + ", revision: r, by: jane}}", ""},
		"nothing":                                     {"{}", ""},
	} {
		err := jane.dryRun(t, controls, kit.Parse(t, kind+"new}, spec: "+test.spec+"}"))
		if test.refused == "" && err != nil {
			t.Errorf("creating %s: %v", sentence, err)
		} else if test.refused != "" {
			wantRefused(t, err, 403, test.refused)
		}
	}
	for sentence, test := range map[string]struct{ spec, refused string }{
		"a resume in the own name":   {"{paused: false, pausedBy: jane}", ""},
		"a resume in the old name":   {"{paused: false}", "set spec.pausedBy to jane"},
		"another reason":             {"{pauseReason: why}", "set spec.pausedBy to jane"},
		"another user of the pause":  {"{pausedBy: jim}", "set spec.pausedBy to jane"},
		"an approval beside another": {"{approvals: [{" + approval + ", by: joe}, {" + approval + ", by: jane}]}", ""},
		"another user of an entry":   {"{forgiven: [{cluster: a, revision: r, reason: x, by: jim}]}", "spec.forgiven to jane"},
		"another cluster of joe":     {"{forgiven: [{cluster: b, revision: r, reason: x, by: joe}]}", "spec.forgiven to jane"},
		"an entry goes":              {"{forgiven: null}", ""},
		"another return":             {"{returnNow: {" + at + ", revision: s}}", "set spec.returnNow.by to jane"},
		"an end without missing ones in another name": {
			"{withoutMissing: {" + at + ", revision: r, by: joe}}",
			"set spec.withoutMissing.by to jane",
		},
		"a start without a way back in another name": {
			"{withoutFormer: {" + at + ", revision: r, by: joe}}",
			"set spec.withoutFormer.by to jane",
		},
	} {
		err := jane.patch(t, controls, team, "stored", "{spec: "+test.spec+"}")
		if test.refused == "" && err != nil {
			t.Errorf("changing %s: %v", sentence, err)
		} else if test.refused != "" {
			wantRefused(t, err, 403, test.refused)
		}
	}
	// The bounds fit the cost that the API server allows to a policy.
	full := "forgiven: ["
	for i := range 500 {
		full += "{cluster: c" + string(rune('a'+i%26)) + string(rune('a'+i/26)) + ", revision: r, reason: x, by: joe}, "
	}
	mustCreate(t, controls, kit.Parse(t, kind+"full}, spec: {"+full+"]}}"))
	if err := jane.patch(t, controls, team, "full", "{spec: {"+full[:len(full)-len("{cluster: ctt, revision: r, reason: x, by: joe}, ")]+
		"{cluster: z, revision: r, reason: x, by: jane}]}}"); err != nil {
		t.Errorf("the largest object: %v", err)
	}
}
