package kit

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/internal/membership/registration"
)

// User returns the subject of a user.
func User(name string) rbacv1.Subject {
	return rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}
}

// Group returns the subject of a group.
func Group(name string) rbacv1.Subject {
	return rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: name}
}

// ServiceAccount returns the subject of a service account.
func ServiceAccount(namespace, name string) rbacv1.Subject {
	return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}
}

// ClusterRole returns the reference to a ClusterRole.
func ClusterRole(name string) rbacv1.RoleRef {
	return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}
}

// Role returns the reference to a Role.
func Role(name string) rbacv1.RoleRef {
	return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name}
}

// ClusterRoleBinding returns a binding of a ClusterRole in the whole hub.
func ClusterRoleBinding(name, role string, subjects ...rbacv1.Subject) *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: ClusterRole(role), Subjects: subjects}
}

// RoleBinding returns a binding of a role in a namespace.
func RoleBinding(namespace, name string, role rbacv1.RoleRef, subjects ...rbacv1.Subject) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, RoleRef: role, Subjects: subjects}
}

// Agent returns the client of an agent of a cluster.
func Agent(t testing.TB, hub *hubtest.Hub, cluster, name string) *Client {
	t.Helper()
	return As(t, hub, registration.AgentUser(cluster, name), registration.AgentGroup(cluster), registration.AgentsGroup)
}

// Allowed returns whether the API server allows a user a request.
func Allowed(ctx context.Context, t testing.TB, hub *hubtest.Hub, user string, groups []string,
	attributes authorizationv1.ResourceAttributes,
) (bool, error) {
	t.Helper()
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user, Groups: groups,
		ResourceAttributes: &attributes,
	}}
	got, err := hub.Client(t).AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	return err == nil && got.Status.Allowed, err
}

// AwaitAccess waits until the API server allows a user a request, or denies it. Roles take effect with a delay.
func AwaitAccess(t testing.TB, hub *hubtest.Hub, user string, groups []string, attributes authorizationv1.ResourceAttributes, want bool) {
	t.Helper()
	Await(t, fmt.Sprintf("the roles of %s are in effect", user), func(ctx context.Context) error {
		got, err := Allowed(ctx, t, hub, user, groups, attributes)
		if err == nil && got != want {
			err = fmt.Errorf("%s %s/%s %s/%s of %s: allowed %t, want %t", attributes.Verb, attributes.Resource, attributes.Subresource,
				attributes.Namespace,
				attributes.Name, user, got, want)
		}
		return err
	})
}

// CertificateRequest returns a request for a certificate in PEM, and its key.
func CertificateRequest(t testing.TB, user string, groups ...string) (request []byte, key *ecdsa.PrivateKey) {
	t.Helper()
	key = Must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)).In(t)
	der := Must(x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject: pkix.Name{CommonName: user, Organization: groups},
	}, key)).In(t)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}), key
}

// AgentRequest returns the certificate request of an agent of a cluster.
func AgentRequest(t testing.TB, cluster, agent string) *certificatesv1.CertificateSigningRequest {
	t.Helper()
	request, _ := CertificateRequest(t, registration.AgentUser(cluster, agent), registration.AgentGroup(cluster), registration.AgentsGroup)
	return &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{GenerateName: cluster + "-", Labels: map[string]string{clusterv1.ClusterNameLabelKey: cluster}},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request: request, SignerName: certificatesv1.KubeAPIServerClientSignerName,
			Usages: []certificatesv1.KeyUsage{
				certificatesv1.UsageDigitalSignature, certificatesv1.UsageKeyEncipherment,
				certificatesv1.UsageClientAuth,
			},
		},
	}
}
