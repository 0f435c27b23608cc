package memberagent

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// bootstrapUser is an identity that may do what the shared bootstrap identity of OCM may.
const bootstrapUser = "bootstrap"

// bootstrapKubeconfig gives the bootstrap identity its permissions and returns its kubeconfig.
func (c *cluster) bootstrapKubeconfig() string {
	c.t.Helper()
	named := metav1.ObjectMeta{Name: "bootstrap-" + c.name}
	c.MustCreate(
		&rbacv1.ClusterRole{ObjectMeta: named, Rules: []rbacv1.PolicyRule{
			{
				APIGroups: []string{"certificates.k8s.io"}, Resources: []string{"certificatesigningrequests"},
				Verbs: []string{"create", "get", "list", "watch"},
			},
			{APIGroups: []string{clusterv1.GroupName}, Resources: []string{"managedclusters"}, Verbs: []string{"create", "get", "list", "watch"}},
		}},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: named, Subjects: []rbacv1.Subject{kit.User(bootstrapUser)},
			RoleRef: kit.ClusterRole(named.Name),
		},
	)
	return c.hub.WriteKubeconfig(c.t, c.hub.ConfigFor(c.t, bootstrapUser))
}

// awaitRequest waits for a request of the agent other than those already seen.
func (c *cluster) awaitRequest(seen ...string) *certificatesv1.CertificateSigningRequest {
	c.t.Helper()
	var out *certificatesv1.CertificateSigningRequest
	c.Await("a request of the agent other than those already seen", func(ctx context.Context) error {
		list := &certificatesv1.CertificateSigningRequestList{}
		if err := c.List(ctx, list, client.MatchingLabels{clusterv1.ClusterNameLabelKey: c.name}); err != nil {
			return err
		}
		var fresh []certificatesv1.CertificateSigningRequest
		for _, request := range list.Items {
			if len(seen) == 0 || request.Name != seen[0] {
				fresh = append(fresh, request)
			}
		}
		if len(fresh) != 1 {
			return fmt.Errorf("there are %d requests, want 1", len(fresh))
		}
		out = &fresh[0]
		return nil
	})
	return out
}

// approve approves a request, and signs it with the CA of the hub's users for some time. A hub that signs may be first.
func (c *cluster) approve(request *certificatesv1.CertificateSigningRequest, lifetime time.Duration) {
	c.t.Helper()
	request.Status.Certificate = c.sign(request, lifetime)
	c.MustUpdateStatus(request)
	request.Status.Conditions = append(request.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
		Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "Test",
	})
	kit.NoError(c.t, c.SubResource("approval").Update(c.t.Context(), request))
}

func (c *cluster) sign(request *certificatesv1.CertificateSigningRequest, lifetime time.Duration) []byte {
	c.t.Helper()
	block, _ := pem.Decode(request.Spec.Request)
	asked := kit.Must(x509.ParseCertificateRequest(block.Bytes)).In(c.t)
	pki := filepath.Join(c.hub.DataDir(), "pki", "users-ca")
	ca := kit.Must(tls.LoadX509KeyPair(pki+".crt", pki+".key")).In(c.t)
	serial := kit.Must(rand.Int(rand.Reader, big.NewInt(1<<62))).In(c.t)
	now := time.Now()
	der := kit.Must(x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: serial, Subject: asked.Subject, NotBefore: now.Add(-time.Second), NotAfter: now.Add(lifetime),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, ca.Leaf, asked.PublicKey, ca.PrivateKey)).In(c.t)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// file returns a file of the agent's folder; empty where it does not exist.
func (c *cluster) file(name string) string {
	text, err := os.ReadFile(filepath.Join(c.agent.Folder, name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		c.t.Fatal(err)
	}
	return string(text)
}
