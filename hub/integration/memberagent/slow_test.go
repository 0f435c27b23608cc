//go:build slow

package memberagent

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/membership/registration"
)

func TestAnAgentJoinsWithARequestAndRenewsItsCertificate(t *testing.T) {
	c := newCluster(t, hub, "joining")
	c.startAgent(member, "--bootstrap-kubeconfig="+c.bootstrapKubeconfig(), "--cluster-name="+c.name, "--agent-name=a1",
		"--external-url=https://edge.example:6443")

	denied := c.awaitRequest()
	found := kit.Must(c.stored(t.Context())).In(t)
	if configs := found.Spec.ManagedClusterClientConfigs; found.Spec.HubAcceptsClient || len(configs) != 1 || len(configs[0].CABundle) == 0 {
		t.Errorf("the agent created %+v", found.Spec)
	}
	namespace := &corev1.Namespace{}
	kit.New(t, member).MustGet(client.ObjectKey{Name: metav1.NamespaceSystem}, namespace)
	if diff := cmp.Diff(string(namespace.UID), denied.Annotations[clusterv1.ClusterUIDAnnotationKey]); diff != "" {
		t.Errorf("the UID on the request (-want +got):\n%s", diff)
	}
	if c.file("tls.key") != "" {
		t.Error("the key was stored before its certificate")
	}

	// A denied request stays the only one, and is replaced once it is gone.
	denied.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{
		Type: certificatesv1.CertificateDenied, Status: corev1.ConditionTrue, Reason: "Test", Message: "wrong cluster",
	}}
	kit.NoError(t, c.SubResource("approval").Update(t.Context(), denied))
	c.Await("the agent's page reports the denial", func(ctx context.Context) error {
		_, text, err := c.ready(ctx)
		if err == nil && !strings.Contains(text, "wrong cluster") {
			err = fmt.Errorf("the page is %q, want the reason of the denial", text)
		}
		return err
	})
	c.awaitRequest()
	c.MustDelete(denied)
	request := c.awaitRequest(denied.Name)

	const lifetime = 60 * time.Second
	c.approve(request, lifetime)
	c.accept()
	c.awaitCondition(clusterv1.ManagedClusterConditionAvailable, metav1.ConditionTrue)
	first := c.file("tls.crt")
	if got := c.file("cluster-name") + " " + c.file("agent-name"); got != "joining a1" {
		t.Errorf("the stored names are %q", got)
	}

	renewal := c.awaitRequest(request.Name)
	if renewal.Spec.Username != registration.AgentUser(c.name, "a1") {
		t.Errorf("%q requests the renewal", renewal.Spec.Username)
	}
	c.approve(renewal, time.Hour)
	c.awaitCondition(clusterv1.ManagedClusterConditionCertificateRotated, metav1.ConditionTrue)
	if c.file("tls.crt") == first {
		t.Error("the renewed certificate is not stored")
	}
	c.awaitRenewal()
}
