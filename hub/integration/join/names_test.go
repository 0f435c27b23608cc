package join

import (
	"bytes"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/cli"
	"github.com/berth-project/berth/internal/membership/registration"
)

const imagedUID = "77777777-2222-3333-4444-555555555555"

// accept runs kubectl berth accept, and returns what it prints.
func accept(t *testing.T, args ...string) (code int, errOut string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &stdout, ErrOut: &stderr}
	code = cli.Run(t.Context(), append([]string{"accept", "--kubeconfig=" + shared.Kubeconfig()}, args...), streams, clock.RealClock{})
	return code, stderr.String()
}

// TestOneMemberHasOneName: a member that is a cluster already gets no certificate under another name, unless an administrator accepts that
// machines have one UID. Two accepted clusters with one member go on, and both report it.
func TestOneMemberHasOneName(t *testing.T) {
	s := newTestHub(t)
	startManager(t)
	s.allowRequests()
	groups := []string{"system:serviceaccounts"}
	s.cluster("first-name")
	s.awaitAccepted("first-name")
	s.awaitState(s.request(registration.JoinUser("first-name"), groups, "first-name", "first-name", imagedUID), approved)
	s.wantRecorded("first-name", imagedUID)

	s.cluster("second-name", func(c *clusterv1.ManagedCluster) { c.Spec.HubAcceptsClient = false })
	second := s.request(registration.JoinUser("second-name"), groups, "second-name", "second-name", imagedUID)
	wantFault := func(code int, errOut string) {
		t.Helper()
		for _, text := range []string{second, "ManagedCluster first-name", "kubectl berth deny second-name", "--shared-identity"} {
			if code != cli.ExitRefused || !strings.Contains(errOut, text) {
				t.Errorf("accept: exit code %d, %q; want %q", code, errOut, text)
			}
		}
	}
	wantFault(accept(t, "second-name"))
	s.setAccepted("second-name", true) // as a script does
	s.awaitCondition("second-name", clusterv1.ManagedClusterConditionIdentityConflict, metav1.ConditionTrue, "AnotherName")
	if got, err := s.state(t.Context(), second); err != nil || got != "Pending" {
		t.Errorf("the request of a member with another name is %q, %v", got, err)
	}
	wantFault(accept(t, "second-name"))

	if code, errOut := accept(t, "second-name", "--shared-identity"); code != cli.ExitOK {
		t.Fatalf("accept --shared-identity: exit code %d, %q", code, errOut)
	}
	s.awaitState(second, approved)
	s.awaitCondition("second-name", clusterv1.ManagedClusterConditionIdentityConflict, metav1.ConditionFalse, "NoConflict")

	t.Log("both go on, and report it, where no administrator has accepted it")
	s.change("second-name", func(c *clusterv1.ManagedCluster) { delete(c.Annotations, registration.SharedIdentityAnnotationKey) })
	for _, name := range []string{"first-name", "second-name"} {
		message := s.awaitCondition(name, clusterv1.ManagedClusterConditionIdentityConflict, metav1.ConditionTrue, "AnotherName")
		if !strings.Contains(message, "ManagedCluster first-name and ManagedCluster second-name") {
			t.Errorf("the message of %s is %q", name, message)
		}
		s.awaitAccepted(name)
	}
	s.setAccepted("second-name", false)
	s.awaitCondition("first-name", clusterv1.ManagedClusterConditionIdentityConflict, metav1.ConditionFalse, "NoConflict")
}
