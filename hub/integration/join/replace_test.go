package join

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/cli"
	"github.com/berth-project/berth/internal/membership/registration"
)

const thirdUID = "55555555-2222-3333-4444-555555555555"

var (
	errSameAccount = errors.New("the account of the former agent exists")
	errOtherRecord = errors.New("the hub has recorded another member")
)

// replace runs kubectl berth accept --replace, and returns what it prints.
func replace(t *testing.T, name string) (code int, out, errOut string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &stdout, ErrOut: &stderr}
	code = cli.Run(t.Context(), []string{"accept", name, "--replace", "--kubeconfig=" + shared.Kubeconfig()}, streams, clock.RealClock{})
	return code, stdout.String(), stderr.String()
}

// wantReplaced runs kubectl berth accept --replace, which must succeed.
func wantReplaced(t *testing.T, name, member string) {
	t.Helper()
	want := fmt.Sprintf("managedcluster %s accepted: its member is %s\n", name, member)
	if code, out, errOut := replace(t, name); code != cli.ExitOK || out != want {
		t.Fatalf("accept --replace: exit code %d, %q, %q; want %q", code, out, errOut, want)
	}
}

// wantRefused runs kubectl berth accept --replace, which must fail with texts.
func wantRefused(t *testing.T, name string, texts ...string) {
	t.Helper()
	code, out, errOut := replace(t, name)
	if code != cli.ExitRefused || out != "" {
		t.Errorf("accept --replace: exit code %d, %q", code, out)
	}
	for _, text := range texts {
		if !strings.Contains(errOut, text) {
			t.Errorf("accept --replace prints %q, want %q", errOut, text)
		}
	}
}

func (t *testHub) wantRecorded(name, uid string) {
	t.t.Helper()
	cluster, err := t.stored(t.t.Context(), name)
	if err != nil || cluster.Annotations[clusterv1.ClusterUIDAnnotationKey] != uid {
		t.t.Errorf("the recorded member is %q, %v; want %q", cluster.Annotations[clusterv1.ClusterUIDAnnotationKey], err, uid)
	}
}

// TestAnotherMemberReplacesTheRecordedOne follows a cluster that was made anew under its old name.
func TestAnotherMemberReplacesTheRecordedOne(t *testing.T) {
	s := newTestHub(t)
	startManager(t)
	s.allowRequests()
	groups := []string{"system:serviceaccounts"}
	s.cluster("again")
	s.awaitAccepted("again")
	s.awaitState(s.request(registration.JoinUser("again"), groups, "again", "again", memberUID), approved)
	s.report("again")
	wantRefused(t, "again", "no other member requests the certificate of ManagedCluster again", "token create --cluster again --rejoin")
	wantRefused(t, "absent", "reading ManagedCluster absent")

	t.Log("two other members wait: the command lists both, and changes nothing")
	second := s.request(registration.JoinUser("again"), groups, "again", "again", otherUID)
	third := s.request(registration.JoinUser("again"), groups, "again", "again", thirdUID)
	s.awaitCondition("again", clusterv1.ManagedClusterConditionIdentityConflict, metav1.ConditionTrue, "AnotherMember")
	wantRefused(t, "again", "several members", second+`: the member with the UID "`+otherUID, third+`: the member with the UID "`+thirdUID)
	s.wantRecorded("again", memberUID)

	t.Log("one of them, and its second request, is accepted without another token")
	other := kit.Must(shared.Client(t).CertificatesV1().CertificateSigningRequests().Get(t.Context(), third, metav1.GetOptions{})).In(t)
	s.MustDelete(other)
	s.setAccepted("again", false)
	wantReplaced(t, "again", "the one with the UID "+otherUID)
	s.awaitState(second, approved)
	s.wantRecorded("again", otherUID)
	s.awaitCondition("again", clusterv1.ManagedClusterConditionIdentityConflict, metav1.ConditionFalse, "NoConflict")

	t.Log("the former agent gets no other certificate")
	agent := []string{registration.AgentGroup("again"), registration.AgentsGroup}
	renewal := s.request(registration.AgentUser("again", "a"), agent, "again", "again", memberUID)
	s.awaitCondition("again", clusterv1.ManagedClusterConditionIdentityConflict, metav1.ConditionTrue, "AnotherMember")
	if got, err := s.state(t.Context(), renewal); err != nil || got != "Pending" {
		t.Errorf("the renewal of the former agent is %q, %v", got, err)
	}
}

// TestAnotherMemberReplacesAnAgentWithAToken holds that the tokens of the former agent end with its account.
func TestAnotherMemberReplacesAnAgentWithAToken(t *testing.T) {
	s := newTestHub(t)
	startManager(t)
	s.allowRequests()
	name := "tokens"
	s.cluster(name, func(c *clusterv1.ManagedCluster) {
		c.Annotations[clusterv1.DriverAnnotationKey] = registration.DriverToken
	})
	s.awaitAccepted(name)
	account := func() types.UID {
		t.Helper()
		out := &corev1.ServiceAccount{}
		s.MustGet(client.ObjectKey{Namespace: name, Name: registration.AgentAccount}, out)
		return out.UID
	}
	awaitAnother := func(former types.UID) {
		t.Helper()
		s.Await("the agent has a new account", func(ctx context.Context) error {
			out := &corev1.ServiceAccount{}
			err := s.Get(ctx, client.ObjectKey{Namespace: name, Name: registration.AgentAccount}, out)
			if err == nil && out.UID == former {
				err = errSameAccount
			}
			return err
		})
	}
	reports := func(uid string) {
		t.Helper()
		s.change(name, func(c *clusterv1.ManagedCluster) { c.Annotations[clusterv1.AgentTokenAnnotationKey] = uid + "/100" })
	}
	reports(memberUID)
	s.Await("the cluster records the member", func(ctx context.Context) error {
		cluster, err := s.stored(ctx, name)
		if err == nil && cluster.Annotations[clusterv1.ClusterUIDAnnotationKey] != memberUID {
			err = errOtherRecord
		}
		return err
	})

	t.Log("a second member that got a token before the first was recorded is a conflict")
	reports(otherUID)
	message := s.awaitCondition(name, clusterv1.ManagedClusterConditionIdentityConflict, metav1.ConditionTrue, "AnotherMember")
	if !strings.Contains(message, memberUID) || !strings.Contains(message, otherUID) {
		t.Errorf("the message names not both members: %q", message)
	}
	reports(memberUID)
	s.awaitCondition(name, clusterv1.ManagedClusterConditionIdentityConflict, metav1.ConditionFalse, "NoConflict")

	t.Log("a second member that gets no token sends a request, which the hub approves in no case")
	groups := []string{"system:serviceaccounts"}
	request := s.request(registration.JoinUser(name), groups, name, name, otherUID)
	s.awaitCondition(name, clusterv1.ManagedClusterConditionIdentityConflict, metav1.ConditionTrue, "AnotherMember")
	former := account()
	wantReplaced(t, name, "the one with the UID "+otherUID)
	s.awaitState(request, "Denied AgentUsesToken")
	s.wantRecorded(name, otherUID)
	s.awaitCondition(name, clusterv1.ManagedClusterConditionIdentityConflict, metav1.ConditionFalse, "NoConflict")
	awaitAnother(former)

	t.Log("without a request, the record is cleared, and the former report records no member")
	reports(otherUID)
	former = account()
	wantReplaced(t, name, "the next that joins by a token")
	awaitAnother(former)
	s.wantRecorded(name, "")
	s.change(name, func(c *clusterv1.ManagedCluster) {
		c.Annotations[clusterv1.JoinRequesterAnnotationKey] = registration.JoinUser(name)
	})
	s.awaitState(s.request("jane", nil, name, "other", ""), denied) // decided after the former report
	s.wantRecorded(name, "")
	s.change(name, func(c *clusterv1.ManagedCluster) {
		c.Annotations[clusterv1.AgentTokenAnnotationKey] = thirdUID + "/200"
	})
	s.Await("the cluster records the third member", func(ctx context.Context) error {
		cluster, err := s.stored(ctx, name)
		if err == nil && cluster.Annotations[clusterv1.ClusterUIDAnnotationKey] != thirdUID {
			err = errOtherRecord
		}
		return err
	})
}
