package join

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/membership/registration"
	"github.com/berth-project/berth/internal/membership/registration/approval"
)

// stateOf returns the cluster c1 with a recorded member; none where it is empty.
func stateOf(recorded string, accepted bool) *clusterv1.ManagedCluster {
	out := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: "c1", Annotations: map[string]string{}}}
	if recorded != "" {
		out.Annotations[clusterv1.ClusterUIDAnnotationKey] = recorded
	}
	out.Spec.HubAcceptsClient = accepted
	return out
}

// openRequest returns a request of a member with the join token of c1.
func openRequest(name, uid, reason string) waitingRequest {
	out := waitingRequest{reason: reason, message: "the message"}
	out.request.Name, out.request.Annotations = name, map[string]string{clusterv1.ClusterUIDAnnotationKey: uid}
	out.request.Spec.Username = registration.JoinUser("c1")
	return out
}

func TestAcceptRefusesAConflictOfIdentity(t *testing.T) {
	for sentence, test := range map[string]struct {
		cluster *clusterv1.ManagedCluster
		open    []waitingRequest
		want    []string // texts of the error; none without one
	}{
		"no request": {stateOf("", false), nil, nil},
		"one member": {stateOf("", false), []waitingRequest{openRequest("r1", "u1", "")}, nil},
		"two requests of one member": {
			stateOf("", false), []waitingRequest{openRequest("r1", "u1", ""), openRequest("r2", "u1", "")}, nil,
		},
		"the member is another cluster": {
			stateOf("", false), []waitingRequest{openRequest("r1", "u1", approval.ReasonOtherName)}, []string{"r1", "the message"},
		},
		"that, and the cluster is accepted": {
			stateOf("", true), []waitingRequest{openRequest("r1", "u1", approval.ReasonOtherName)}, []string{"r1"},
		},
		"several members, none is recorded": {
			stateOf("", false),
			[]waitingRequest{openRequest("r1", "u1", ""), openRequest("r2", "u2", "")},
			[]string{`r1: the member with the UID "u1"`, `r2: the member with the UID "u2"`, "kubectl certificate deny"},
		},
		"another member than the recorded one": {
			stateOf("u1", false),
			[]waitingRequest{openRequest("r2", "u2", approval.ReasonIdentityConflict)},
			[]string{"r2", "kubectl berth accept c1 --replace", "kubectl certificate deny r2"},
		},
		"that, and the cluster goes on": {stateOf("u1", true), []waitingRequest{openRequest("r2", "u2", approval.ReasonIdentityConflict)}, nil},
	} {
		t.Run(sentence, func(t *testing.T) { wantError(t, identityFault(test.cluster, test.open), test.want...) })
	}
}

func TestReplaceNamesTheNextStepInEachState(t *testing.T) {
	awaiting := func(recorded string) *clusterv1.ManagedCluster {
		out := stateOf(recorded, true)
		registration.SetRequester(out, registration.JoinUser("c1"), "s1")
		return out
	}
	const token = "kubectl berth token create --cluster c1 --rejoin"
	for sentence, test := range map[string]struct {
		cluster *clusterv1.ManagedCluster
		open    []waitingRequest
		want    []string
	}{
		"no request, as while the certificate was approved and not picked up": {
			stateOf("u1", true), nil, []string{"no other member", "u1", token, "the same token"},
		},
		"no request, denied":              {stateOf("u1", false), nil, []string{"no other member", token}},
		"no recorded member":              {stateOf("", true), nil, []string{"has no recorded member", token, "without --replace"}},
		"a join token waits for its use":  {awaiting("u1"), nil, []string{"no other member", "a join token of it waits for its use"}},
		"that, without a recorded member": {awaiting(""), nil, []string{"no recorded member", "kubectl berth accept c1"}},
		"the recorded member requests again": {
			stateOf("u1", true),
			[]waitingRequest{openRequest("r1", "u1", approval.ReasonRequesterMismatch)},
			[]string{"the request r1 is of the recorded member u1", token},
		},
	} {
		t.Run(sentence, func(t *testing.T) { wantError(t, noOtherMember(test.cluster, test.open), test.want...) })
	}
}

func TestReplaceAcceptsTheOnlyMemberThatRequests(t *testing.T) {
	for sentence, test := range map[string]struct {
		recorded string
		open     []waitingRequest
		want     string // the name of the request; empty without one
		fault    string
	}{
		"another member":      {"u1", []waitingRequest{openRequest("r2", "u2", approval.ReasonIdentityConflict)}, "r2", ""},
		"the recorded member": {"u1", []waitingRequest{openRequest("r1", "u1", approval.ReasonRequesterMismatch)}, "", ""},
		"a member with a used token, where none is recorded": {
			"", []waitingRequest{openRequest("r1", "u1", approval.ReasonRequesterMismatch)}, "r1", "",
		},
		"a member that joined before, where none is recorded": {"", []waitingRequest{openRequest("r1", "u1", approval.ReasonJoined)}, "r1", ""},
		"a member without a UID, where none is recorded":      {"", []waitingRequest{openRequest("r1", "", approval.ReasonJoined)}, "", ""},
		"several members": {
			"",
			[]waitingRequest{openRequest("r1", "u1", approval.ReasonJoined), openRequest("r2", "u2", approval.ReasonJoined)},
			"",
			"several members",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			got, err := onlyMember(stateOf(test.recorded, true), test.open)
			if test.fault != "" {
				wantError(t, err, test.fault)
				return
			}
			name := ""
			if got != nil {
				name = got.request.Name
			}
			if err != nil || name != test.want {
				t.Errorf("onlyMember = %q, %v; want %q", name, err, test.want)
			}
		})
	}
}

// wantError compares an error with texts. Without texts there must be none.
func wantError(t *testing.T, err error, texts ...string) {
	t.Helper()
	if (err == nil) != (len(texts) == 0) {
		t.Fatalf("the error is %v, want one with %q", err, texts)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("the error is %q, want %q in it", err, text)
		}
	}
}
