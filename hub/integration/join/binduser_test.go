package join

import (
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/internal/membership/registration"
)

// TestOnlyTheRecordedAgentHasPermissions: with --bind-agent-user, a former certificate of the cluster is of no use, though it is valid.
func TestOnlyTheRecordedAgentHasPermissions(t *testing.T) {
	s := newTestHub(t)
	hubtest.StartManager(t, shared, hubtest.ManagerOptions{Args: []string{"--controllers=*,acceptance,csr", "--bind-agent-user"}})
	s.allowRequests()
	s.cluster("bound")
	s.awaitAccepted("bound")
	every := func(authorizationv1.ResourceAttributes) bool { return true }
	none := func(authorizationv1.ResourceAttributes) bool { return false }

	t.Log("until an agent is recorded, every agent of the cluster has the permissions")
	s.awaitReviewsOf("bound", "former", every)

	t.Log("the agent of the first certificate is the only one")
	s.awaitState(s.request(registration.JoinUser("bound"), []string{"system:serviceaccounts"}, "bound", "bound", memberUID), approved)
	s.awaitReviewsOf("bound", "a", every)
	s.awaitReviewsOf("bound", "former", none)

	t.Log("so is an agent whose certificate an administrator approves")
	s.change("bound", func(c *clusterv1.ManagedCluster) { c.Annotations[clusterv1.AgentNameAnnotationKey] = "other" })
	s.awaitReviewsOf("bound", "a", none)
	s.approve(s.request("jane", nil, "bound", "bound", memberUID))
	s.awaitReviewsOf("bound", "a", every)
	s.awaitReviewsOf("bound", "other", none)

	t.Log("an agent that is revoked stays so when the cluster is accepted again")
	s.setAccepted("bound", false)
	s.awaitCondition("bound", clusterv1.ManagedClusterConditionHubAccepted, metav1.ConditionFalse, clusterv1.ReasonHubClusterAdminDenied)
	s.change("bound", func(c *clusterv1.ManagedCluster) { c.Annotations[clusterv1.AgentNameAnnotationKey] = "revoked" })
	s.setAccepted("bound", true)
	s.awaitAccepted("bound")
	s.awaitReviewsOf("bound", "revoked", every)
	s.awaitReviewsOf("bound", "a", none)
}

// approve approves a request, as kubectl certificate approve does.
func (t *testHub) approve(name string) {
	t.t.Helper()
	requests := shared.Client(t.t).CertificatesV1().CertificateSigningRequests()
	request, err := requests.Get(t.t.Context(), name, metav1.GetOptions{})
	if err == nil {
		request.Status.Conditions = append(request.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
			Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "KubectlApprove", LastUpdateTime: metav1.Now(),
		})
		_, err = requests.UpdateApproval(t.t.Context(), name, request, metav1.UpdateOptions{})
	}
	if err != nil {
		t.t.Fatal(err)
	}
}
