package approval_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/membership/registration"
	"github.com/berth-project/berth/internal/membership/registration/approval"
)

const uid, otherUID = "11111111-2222-3333-4444-555555555555", "99999999-2222-3333-4444-555555555555"

var sharedKey = newKey(elliptic.P256())

func newKey(curve elliptic.Curve) crypto.Signer {
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		panic(err)
	}
	return key
}

func ed25519Key(t *testing.T) crypto.Signer {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func rsaKey(t *testing.T, bits int) crypto.Signer {
	t.Helper()
	t.Setenv("GODEBUG", "rsa1024min=0")
	key, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// pemOf signs a certificate request.
func pemOf(t *testing.T, key crypto.Signer, template x509.CertificateRequest) []byte {
	t.Helper()
	der, err := x509.CreateCertificateRequest(rand.Reader, &template, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
}

func subject(cluster, commonName string) pkix.Name {
	return pkix.Name{CommonName: commonName, Organization: []string{registration.AgentGroup(cluster), registration.AgentsGroup}}
}

// request returns the first request of the agent a of a cluster, with its join token.
func request(t *testing.T, cluster string) *certificatesv1.CertificateSigningRequest {
	t.Helper()
	return &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{
			Name: cluster + "-x", Labels: map[string]string{clusterv1.ClusterNameLabelKey: cluster},
			Annotations: map[string]string{clusterv1.ClusterUIDAnnotationKey: uid},
		},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request:    pemOf(t, sharedKey, x509.CertificateRequest{Subject: subject(cluster, registration.AgentUser(cluster, "a"))}),
			SignerName: certificatesv1.KubeAPIServerClientSignerName,
			Usages: []certificatesv1.KeyUsage{
				certificatesv1.UsageDigitalSignature, certificatesv1.UsageKeyEncipherment,
				certificatesv1.UsageClientAuth,
			},
			Username: registration.JoinUser(cluster), Groups: []string{"system:serviceaccounts"},
		},
	}
}

// byAgent makes the agent of a cluster the requester.
func byAgent(csr *certificatesv1.CertificateSigningRequest, cluster string) {
	csr.Spec.Username = registration.AgentUser(cluster, "a")
	csr.Spec.Groups = []string{registration.AgentGroup(cluster), registration.AgentsGroup}
}

// accepted returns an accepted cluster that waits for its first certificate.
func accepted(name string) *clusterv1.ManagedCluster {
	out := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{
		Name: name, Annotations: map[string]string{clusterv1.JoinRequesterAnnotationKey: registration.JoinUser(name)},
	}}
	out.Spec.HubAcceptsClient = true
	out.Status.Conditions = []metav1.Condition{{
		Type: clusterv1.ManagedClusterConditionHubAccepted, Status: "True",
		Reason: clusterv1.ReasonHubClusterAdminAccepted,
	}}
	return out
}

func joined(cluster *clusterv1.ManagedCluster) {
	cluster.Annotations[clusterv1.ClusterUIDAnnotationKey] = uid
	cluster.Status.Conditions = append(cluster.Status.Conditions,
		metav1.Condition{Type: clusterv1.ManagedClusterConditionJoined, Status: "True", Reason: "Joined"})
}

type csr = certificatesv1.CertificateSigningRequest

func TestDecide(t *testing.T) {
	const approve, ignore = "Approve ", "Ignore "
	sign := func(key func(t *testing.T) crypto.Signer, change func(*x509.CertificateRequest)) func(*testing.T, *csr,
		*clusterv1.ManagedCluster) {
		return func(t *testing.T, r *csr, _ *clusterv1.ManagedCluster) {
			template := x509.CertificateRequest{Subject: subject("c1", registration.AgentUser("c1", "a"))}
			if change != nil {
				change(&template)
			}
			signer := sharedKey
			if key != nil {
				signer = key(t)
			}
			r.Spec.Request = pemOf(t, signer, template)
		}
	}
	common := func(name string) func(*testing.T, *csr, *clusterv1.ManagedCluster) {
		return sign(nil, func(r *x509.CertificateRequest) { r.Subject.CommonName = name })
	}
	organizations := func(names ...string) func(*testing.T, *csr, *clusterv1.ManagedCluster) {
		return sign(nil, func(r *x509.CertificateRequest) { r.Subject.Organization = names })
	}
	for sentence, test := range map[string]struct {
		change func(*testing.T, *csr, *clusterv1.ManagedCluster)
		want   string // the action, a blank, the reason
	}{
		"the first certificate, by the recorded requester": {want: approve},
		"no label":               {func(_ *testing.T, r *csr, _ *clusterv1.ManagedCluster) { r.Labels = nil }, ignore},
		"the label of an add-on": {func(_ *testing.T, r *csr, _ *clusterv1.ManagedCluster) { r.Labels[approval.AddOnLabel] = "x" }, ignore},
		"another signer":         {func(_ *testing.T, r *csr, _ *clusterv1.ManagedCluster) { r.Spec.SignerName = "example.com/x" }, ignore},
		"approved before": {func(_ *testing.T, r *csr, _ *clusterv1.ManagedCluster) {
			r.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateApproved}}
		}, ignore},
		"denied before": {func(_ *testing.T, r *csr, _ *clusterv1.ManagedCluster) {
			r.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateDenied}}
		}, ignore},
		"signed before": {func(_ *testing.T, r *csr, _ *clusterv1.ManagedCluster) { r.Status.Certificate = []byte("x") }, ignore},

		"no PEM": {func(_ *testing.T, r *csr, _ *clusterv1.ManagedCluster) { r.Spec.Request = []byte("x") }, "Deny InvalidRequest"},
		"two PEM blocks": {func(_ *testing.T, r *csr, _ *clusterv1.ManagedCluster) {
			r.Spec.Request = append(r.Spec.Request, r.Spec.Request...)
		}, "Deny InvalidRequest"},
		"another PEM type": {func(_ *testing.T, r *csr, _ *clusterv1.ManagedCluster) {
			r.Spec.Request = []byte(strings.ReplaceAll(string(r.Spec.Request), "CERTIFICATE REQUEST", "CERTIFICATE"))
		}, "Deny InvalidRequest"},
		"a broken signature": {func(t *testing.T, r *csr, _ *clusterv1.ManagedCluster) { breakSignature(t, r) }, "Deny InvalidRequest"},
		"a DNS name":         {sign(nil, func(r *x509.CertificateRequest) { r.DNSNames = []string{"a"} }), "Deny InvalidRequest"},
		"an IP address": {
			sign(nil, func(r *x509.CertificateRequest) { r.IPAddresses = []net.IP{net.IPv4(1, 2, 3, 4)} }),
			"Deny InvalidRequest",
		},
		"a URI": {
			sign(nil, func(r *x509.CertificateRequest) { r.URIs = []*url.URL{{Scheme: "a", Host: "b"}} }),
			"Deny InvalidRequest",
		},
		"an e-mail address": {sign(nil, func(r *x509.CertificateRequest) { r.EmailAddresses = []string{"a@b.c"} }), "Deny InvalidRequest"},
		"a subject with a unit": {
			sign(nil, func(r *x509.CertificateRequest) { r.Subject.OrganizationalUnit = []string{"x"} }),
			"Deny InvalidRequest",
		},
		"two common names": {sign(nil, func(r *x509.CertificateRequest) {
			r.Subject.ExtraNames = []pkix.AttributeTypeAndValue{
				{Type: []int{2, 5, 4, 3}, Value: "x"},
				{Type: []int{2, 5, 4, 3}, Value: registration.AgentUser("c1", "a")},
			}
		}), "Deny InvalidRequest"},
		"a P-384 key":       {sign(func(*testing.T) crypto.Signer { return newKey(elliptic.P384()) }, nil), approve},
		"a P-521 key":       {sign(func(*testing.T) crypto.Signer { return newKey(elliptic.P521()) }, nil), "Deny InvalidRequest"},
		"an Ed25519 key":    {sign(ed25519Key, nil), approve},
		"an RSA key":        {sign(func(t *testing.T) crypto.Signer { return rsaKey(t, 2048) }, nil), approve},
		"a short RSA key":   {sign(func(t *testing.T) crypto.Signer { return rsaKey(t, 1024) }, nil), "Deny InvalidRequest"},
		"fewer usages":      {usages(certificatesv1.UsageClientAuth, certificatesv1.UsageDigitalSignature), approve},
		"a server's usage":  {usages(certificatesv1.UsageClientAuth, certificatesv1.UsageServerAuth), "Deny InvalidRequest"},
		"no client's usage": {usages(certificatesv1.UsageDigitalSignature), "Deny InvalidRequest"},
		"a UID of any text": {func(_ *testing.T, r *csr, _ *clusterv1.ManagedCluster) {
			r.Annotations[clusterv1.ClusterUIDAnnotationKey] = "A B"
		}, "Deny InvalidRequest"},
		"a life of a year":   {seconds(365 * 24 * 3600), "Wait DurationTooLong"},
		"a life of 90 days":  {seconds(90 * 24 * 3600), approve},
		"only its own group": {organizations(registration.AgentGroup("c1")), approve},

		"the group of c10": {organizations(registration.AgentGroup("c10")), "Deny IdentityContradictsLabel"},
		"the groups of c1 and c10": {
			organizations(registration.AgentGroup("c1"), registration.AgentGroup("c10")),
			"Deny IdentityContradictsLabel",
		},
		"the group of administrators":  {organizations(registration.AgentGroup("c1"), "system:masters"), "Deny IdentityContradictsLabel"},
		"only the group of all agents": {organizations(registration.AgentsGroup), "Deny IdentityContradictsLabel"},
		"no group":                     {organizations(), "Deny IdentityContradictsLabel"},
		"the user of c10":              {common(registration.AgentUser("c10", "a")), "Deny IdentityContradictsLabel"},
		"a user with a third part":     {common(registration.AgentUser("c1", "a:b")), "Wait NotAnAgent"},
		"a user without an agent":      {common(registration.AgentGroup("c1")), "Wait NotAnAgent"},
		"another user":                 {common("system:admin"), "Wait NotAnAgent"},

		"the cluster is not accepted": {
			func(_ *testing.T, _ *csr, c *clusterv1.ManagedCluster) { c.Spec.HubAcceptsClient = false },
			"Wait ClusterNotAccepted",
		},
		"its access is not granted": {
			func(_ *testing.T, _ *csr, c *clusterv1.ManagedCluster) { c.Status.Conditions = nil },
			"Wait ClusterNotAccepted",
		},
		"the cluster is simulated": {func(_ *testing.T, _ *csr, c *clusterv1.ManagedCluster) {
			c.Annotations[clusterv1.SimulatedAnnotationKey], c.Status.Conditions[0].Reason = "true", clusterv1.ReasonSimulated
		}, "Wait ClusterNotAccepted"},
		"the cluster is being deleted": {func(_ *testing.T, _ *csr, c *clusterv1.ManagedCluster) {
			c.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
		}, "Wait ClusterDeleting"},
		"the label names another cluster": {func(_ *testing.T, _ *csr, c *clusterv1.ManagedCluster) { c.Name = "c10" }, "Wait ClusterNotFound"},

		"by another user": {func(_ *testing.T, r *csr, _ *clusterv1.ManagedCluster) { r.Spec.Username = "jane" }, "Wait RequesterMismatch"},
		"by the token of c10": {func(_ *testing.T, r *csr, _ *clusterv1.ManagedCluster) {
			r.Spec.Username = registration.JoinUser("c10")
		}, "Wait RequesterMismatch"},
		"no requester is recorded": {
			func(_ *testing.T, r *csr, c *clusterv1.ManagedCluster) { c.Annotations, r.Spec.Username = nil, "" },
			"Wait RequesterMismatch",
		},
		"by the agent of c10": {func(_ *testing.T, r *csr, _ *clusterv1.ManagedCluster) { byAgent(r, "c10") }, "Wait RequesterMismatch"},
		"by a recorded agent of c10": {func(_ *testing.T, r *csr, c *clusterv1.ManagedCluster) {
			byAgent(r, "c10")
			c.Annotations[clusterv1.JoinRequesterAnnotationKey] = r.Spec.Username
		}, "Wait RequesterMismatch"},
		"by the shared bootstrap account, which recorded itself": {func(_ *testing.T, r *csr, c *clusterv1.ManagedCluster) {
			r.Spec.Username = "system:serviceaccount:open-cluster-management:agent-registration-bootstrap"
			c.Annotations[clusterv1.JoinRequesterAnnotationKey] = r.Spec.Username
		}, "Wait SharedBootstrapIdentity"},
		"by a bootstrap token": {func(_ *testing.T, r *csr, _ *clusterv1.ManagedCluster) {
			r.Spec.Groups = []string{"system:bootstrappers:managedcluster"}
		}, "Wait SharedBootstrapIdentity"},

		"a renewal": {func(_ *testing.T, r *csr, c *clusterv1.ManagedCluster) { byAgent(r, "c1"); joined(c) }, approve},
		"a renewal for a year": {func(_ *testing.T, r *csr, c *clusterv1.ManagedCluster) {
			byAgent(r, "c1")
			joined(c)
			r.Spec.ExpirationSeconds = new(int32(365 * 24 * 3600))
		}, approve},
		"a first certificate without a UID": {
			func(_ *testing.T, r *csr, _ *clusterv1.ManagedCluster) { r.Annotations = nil },
			"Wait ClusterIdentityUnknown",
		},
		"a request after the token is used up": {func(_ *testing.T, r *csr, c *clusterv1.ManagedCluster) {
			r.UID = "r2"
			c.Annotations = map[string]string{clusterv1.ClusterUIDAnnotationKey: uid, clusterv1.JoinedRequestAnnotationKey: "r1"}
		}, "Wait RequesterMismatch"},
		"another member after the token is used up": {func(_ *testing.T, _ *csr, c *clusterv1.ManagedCluster) {
			c.Annotations = map[string]string{clusterv1.ClusterUIDAnnotationKey: otherUID}
		}, "Wait ClusterIdentityConflict"},
		"the request that used the token up": {func(_ *testing.T, r *csr, c *clusterv1.ManagedCluster) {
			r.UID = "r1"
			c.Annotations = map[string]string{clusterv1.ClusterUIDAnnotationKey: uid, clusterv1.JoinedRequestAnnotationKey: "r1"}
		}, approve},
		"that request, by another member": {func(_ *testing.T, r *csr, c *clusterv1.ManagedCluster) {
			r.UID = "r1"
			c.Annotations = map[string]string{clusterv1.ClusterUIDAnnotationKey: otherUID, clusterv1.JoinedRequestAnnotationKey: "r1"}
		}, "Wait ClusterIdentityConflict"},
		"a renewal without a UID": {func(_ *testing.T, r *csr, c *clusterv1.ManagedCluster) {
			byAgent(r, "c1")
			joined(c)
			r.Annotations = nil
		}, approve},
		"a renewal by another member": {func(_ *testing.T, r *csr, c *clusterv1.ManagedCluster) {
			byAgent(r, "c1")
			joined(c)
			r.Annotations[clusterv1.ClusterUIDAnnotationKey] = otherUID
		}, "Wait ClusterIdentityConflict"},
		"a renewal outside of its group": {func(_ *testing.T, r *csr, c *clusterv1.ManagedCluster) {
			byAgent(r, "c1")
			joined(c)
			r.Spec.Groups = nil
		}, "Wait RequesterMismatch"},
		"a renewal by another agent name": {func(_ *testing.T, r *csr, c *clusterv1.ManagedCluster) {
			byAgent(r, "c1")
			joined(c)
			r.Spec.Username += "b"
		}, "Wait RequesterMismatch"},

		"a first certificate again": {func(_ *testing.T, _ *csr, c *clusterv1.ManagedCluster) { joined(c) }, "Wait ClusterJoinedBefore"},
		"again, and the cluster may rejoin": {func(_ *testing.T, _ *csr, c *clusterv1.ManagedCluster) {
			joined(c)
			c.Annotations[clusterv1.AutoRejoinAnnotationKey] = "true"
		}, approve},
		"again, and no UID is recorded": {func(_ *testing.T, _ *csr, c *clusterv1.ManagedCluster) {
			joined(c)
			c.Annotations[clusterv1.AutoRejoinAnnotationKey] = "true"
			delete(c.Annotations, clusterv1.ClusterUIDAnnotationKey)
		}, "Wait ClusterJoinedBefore"},
		"again, no UID is recorded, and the token is of the recorded account": {func(_ *testing.T, r *csr, c *clusterv1.ManagedCluster) {
			joined(c)
			r.Spec.UID = "s2"
			registration.SetRequester(c, r.Spec.Username, "s2")
			c.Annotations[clusterv1.AutoRejoinAnnotationKey] = "true"
			delete(c.Annotations, clusterv1.ClusterUIDAnnotationKey)
		}, approve},
		"by a former join token, and the cluster may rejoin": {func(_ *testing.T, r *csr, c *clusterv1.ManagedCluster) {
			joined(c)
			r.Spec.UID = "s1"
			registration.SetRequester(c, r.Spec.Username, "s2")
			c.Annotations[clusterv1.AutoRejoinAnnotationKey] = "true"
		}, "Deny JoinTokenEnded"},
		"by a former join token, of another member": {func(_ *testing.T, r *csr, c *clusterv1.ManagedCluster) {
			joined(c)
			r.Spec.UID, r.Annotations[clusterv1.ClusterUIDAnnotationKey] = "s1", otherUID
			registration.SetRequester(c, r.Spec.Username, "s2")
		}, "Deny JoinTokenEnded"},
		"by a user of the same name without a UID": {func(_ *testing.T, r *csr, c *clusterv1.ManagedCluster) {
			registration.SetRequester(c, r.Spec.Username, "s2")
		}, "Deny JoinTokenEnded"},
		"another member takes the name": {func(_ *testing.T, r *csr, c *clusterv1.ManagedCluster) {
			joined(c)
			c.Annotations[clusterv1.AutoRejoinAnnotationKey] = "true"
			r.Annotations[clusterv1.ClusterUIDAnnotationKey] = otherUID
		}, "Wait ClusterIdentityConflict"},
		"a member without a UID takes the name": {func(_ *testing.T, r *csr, c *clusterv1.ManagedCluster) {
			joined(c)
			c.Annotations[clusterv1.AutoRejoinAnnotationKey] = "true"
			r.Annotations = nil
		}, "Wait ClusterIdentityUnknown"},
		"a second member, before the first joined": {func(_ *testing.T, _ *csr, c *clusterv1.ManagedCluster) {
			c.Annotations[clusterv1.ClusterUIDAnnotationKey] = otherUID
		}, "Wait ClusterIdentityConflict"},
		"a second member, of the driver token": {func(_ *testing.T, _ *csr, c *clusterv1.ManagedCluster) {
			c.Annotations[clusterv1.DriverAnnotationKey] = registration.DriverToken
			c.Annotations[clusterv1.ClusterUIDAnnotationKey] = otherUID
		}, "Wait ClusterIdentityConflict"},
		"a second member of the driver token, once it is the recorded one": {func(_ *testing.T, _ *csr, c *clusterv1.ManagedCluster) {
			c.Annotations = map[string]string{clusterv1.DriverAnnotationKey: registration.DriverToken, clusterv1.ClusterUIDAnnotationKey: uid}
		}, "Deny AgentUsesToken"},
		"the first certificate of a cluster of the driver token": {func(_ *testing.T, _ *csr, c *clusterv1.ManagedCluster) {
			c.Annotations[clusterv1.DriverAnnotationKey] = registration.DriverToken
		}, "Deny AgentUsesToken"},
		"the agent of a cluster that changed its driver renews": {func(_ *testing.T, r *csr, c *clusterv1.ManagedCluster) {
			byAgent(r, "c1")
			joined(c)
			c.Annotations[clusterv1.DriverAnnotationKey] = registration.DriverToken
		}, approve},
		"the same member again, before it joined": {func(_ *testing.T, _ *csr, c *clusterv1.ManagedCluster) {
			c.Annotations[clusterv1.ClusterUIDAnnotationKey] = uid
		}, approve},
	} {
		t.Run(sentence, func(t *testing.T) {
			r, cluster := request(t, "c1"), accepted("c1")
			if test.change != nil {
				test.change(t, r, cluster)
			}
			got := approval.Decide(approval.Input{Request: r, Cluster: cluster, MaxDuration: approval.DefaultMaxDuration})
			if is := string(got.Action) + " " + got.Reason; is != test.want {
				t.Errorf("decided %q (%s), want %q", is, got.Message, test.want)
			}
		})
	}
}

func usages(of ...certificatesv1.KeyUsage) func(*testing.T, *csr, *clusterv1.ManagedCluster) {
	return func(_ *testing.T, r *csr, _ *clusterv1.ManagedCluster) { r.Spec.Usages = of }
}

func seconds(n int32) func(*testing.T, *csr, *clusterv1.ManagedCluster) {
	return func(_ *testing.T, r *csr, _ *clusterv1.ManagedCluster) { r.Spec.ExpirationSeconds = &n }
}

func breakSignature(t *testing.T, r *csr) {
	t.Helper()
	block, _ := pem.Decode(r.Spec.Request)
	block.Bytes[len(block.Bytes)-1] ^= 1
	r.Spec.Request = pem.EncodeToMemory(block)
}

// TestClusterNamesAreComparedWhole tries every pair of similar names as the cluster in the label and the cluster in the identity.
func TestClusterNamesAreComparedWhole(t *testing.T) {
	names := []string{"c1", "c10", "a", "a-b", "a-b-c", "prod", "prod-2"}
	for _, label := range names {
		for _, of := range names {
			for what, change := range map[string]func(*csr){
				"the common name": func(r *csr) {
					r.Spec.Request = pemOf(t, sharedKey, x509.CertificateRequest{Subject: subject(label, registration.AgentUser(of, "a"))})
				},
				"the organization": func(r *csr) {
					r.Spec.Request = pemOf(t, sharedKey, x509.CertificateRequest{Subject: subject(of, registration.AgentUser(label, "a"))})
				},
				"the requester, an agent": func(r *csr) { byAgent(r, of) },
				"the requester, a token":  func(r *csr) { r.Spec.Username = registration.JoinUser(of) },
			} {
				r := request(t, label)
				change(r)
				got := approval.Decide(approval.Input{Request: r, Cluster: accepted(label), MaxDuration: approval.DefaultMaxDuration})
				if (got.Action == approval.Approve) != (of == label) {
					t.Errorf("cluster %s, %s is of %s: %+v", label, what, of, got)
				}
			}
		}
	}
}

// TestARenewalNeedsThePermissionOfItsCluster compares the review with the requester.
func TestARenewalNeedsThePermissionOfItsCluster(t *testing.T) {
	r, cluster := request(t, "c1"), accepted("c1")
	byAgent(r, "c1")
	r.Spec.UID, r.Spec.Extra = "u", map[string]certificatesv1.ExtraValue{"k": {"v"}}
	got := approval.Decide(approval.Input{Request: r, Cluster: cluster, MaxDuration: approval.DefaultMaxDuration})
	review := got.Review
	if review == nil {
		t.Fatalf("no permission is reviewed: %+v", got)
	}
	if review.User != r.Spec.Username || review.UID != "u" || len(review.Groups) != 2 || review.Extra["k"][0] != "v" {
		t.Errorf("the review is of another user: %+v", review)
	}
	if a := review.ResourceAttributes; a.Verb != "renew" || a.Group != "register.open-cluster-management.io" ||
		a.Resource != "managedclusters" ||
		a.Subresource != "clientcertificates" || a.Name != "c1" {
		t.Errorf("the review is of another permission: %+v", a)
	}
	if got.Pin != uid {
		t.Errorf("the UID to record is %q, want %q", got.Pin, uid)
	}
}

// FuzzDecide holds that no bytes and no names make Decide panic or approve another identity than that of the label.
func FuzzDecide(f *testing.F) {
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: subject("c1", registration.AgentUser("c1", "a"))},
		sharedKey)
	if err != nil {
		f.Fatal(err)
	}
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
	f.Add(block, "c1", registration.JoinUser("c1"))
	f.Add(block, "c10", registration.JoinUser("c1"))
	f.Add(block[:40], "c1", "")
	f.Add([]byte("-----BEGIN CERTIFICATE REQUEST-----\n-----END CERTIFICATE REQUEST-----\n"), "", "x")
	f.Fuzz(func(t *testing.T, data []byte, label, requester string) {
		r := &csr{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{clusterv1.ClusterNameLabelKey: label}}}
		r.Spec.Request, r.Spec.Username = data, requester
		r.Annotations = map[string]string{clusterv1.ClusterUIDAnnotationKey: uid}
		r.Spec.SignerName, r.Spec.Usages = certificatesv1.KubeAPIServerClientSignerName, []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth}
		got := approval.Decide(approval.Input{Request: r, Cluster: accepted(label), MaxDuration: approval.DefaultMaxDuration})
		if got.Action != approval.Approve {
			return
		}
		block, _ := pem.Decode(data)
		parsed, err := x509.ParseCertificateRequest(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		if cluster, _, ok := registration.ParseAgentUser(parsed.Subject.CommonName); !ok || cluster != label ||
			requester != registration.JoinUser(label) {
			t.Errorf("approved %q for cluster %q by %q", parsed.Subject.CommonName, label, requester)
		}
	})
}
