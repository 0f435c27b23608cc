package csr

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"log/slog"
	"math/big"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/agent/client"
	"github.com/berth-project/berth/internal/agent/credential"
)

var errBoom = errors.New("boom")

func names() credential.Names { return credential.Names{Cluster: "c1", Agent: "a1"} }

func TestNewRequestIsWhatTheHubApproves(t *testing.T) {
	key, _, err := newKey()
	if err != nil {
		t.Fatal(err)
	}
	got, err := newRequest(names(), "uid-1", time.Hour, key)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(got.Spec.Request)
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if public, ok := request.PublicKey.(*ecdsa.PublicKey); !ok || public.Curve != elliptic.P256() || request.CheckSignature() != nil {
		t.Errorf("the key is %T", request.PublicKey)
	}
	organizations := []string{"system:open-cluster-management:c1", "system:open-cluster-management:managed-clusters"}
	if diff := cmp.Diff(organizations, request.Subject.Organization); diff != "" ||
		request.Subject.CommonName != "system:open-cluster-management:c1:a1" {
		t.Errorf("the subject is %s", request.Subject)
	}
	got.Spec.Request = nil
	want := &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: "c1-",
			Labels:       map[string]string{"open-cluster-management.io/cluster-name": "c1"},
			Annotations:  map[string]string{clusterv1.ClusterUIDAnnotationKey: "uid-1"},
		},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			SignerName: "kubernetes.io/kube-apiserver-client", ExpirationSeconds: ptr.To[int32](3600),
			Usages: []certificatesv1.KeyUsage{"digital signature", "key encipherment", "client auth"},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}

func TestInspect(t *testing.T) {
	condition := func(kind certificatesv1.RequestConditionType,
		status corev1.ConditionStatus,
	) certificatesv1.CertificateSigningRequestCondition {
		return certificatesv1.CertificateSigningRequestCondition{Type: kind, Status: status, Message: "m"}
	}
	approved, denied, failed := condition("Approved", "True"), condition("Denied", "True"), condition("Failed", "True")
	for sentence, test := range map[string]struct {
		conditions  []certificatesv1.CertificateSigningRequestCondition
		certificate string
		want        State
	}{
		"not decided":                     {nil, "", Pending},
		"approved and not signed":         {[]certificatesv1.CertificateSigningRequestCondition{approved}, "", Pending},
		"signed":                          {[]certificatesv1.CertificateSigningRequestCondition{approved}, "c", Issued},
		"denied":                          {[]certificatesv1.CertificateSigningRequestCondition{denied}, "", Denied},
		"denied later, and signed":        {[]certificatesv1.CertificateSigningRequestCondition{approved, denied}, "c", Denied},
		"not signed by the signer":        {[]certificatesv1.CertificateSigningRequestCondition{approved, failed}, "", Failed},
		"a denial that was taken back":    {[]certificatesv1.CertificateSigningRequestCondition{condition("Denied", "False")}, "", Pending},
		"a condition of another approver": {[]certificatesv1.CertificateSigningRequestCondition{condition("Other", "True")}, "", Pending},
	} {
		t.Run(sentence, func(t *testing.T) {
			request := &certificatesv1.CertificateSigningRequest{}
			request.Status.Conditions, request.Status.Certificate = test.conditions, []byte(test.certificate)
			if got, _ := Inspect(request); got != test.want {
				t.Errorf("Inspect = %v, want %v", got, test.want)
			}
		})
	}
}

func TestRenewAtLeavesAFifthToAQuarterOfTheLifetime(t *testing.T) {
	start := time.Unix(0, 0)
	for random, want := range map[float64]time.Duration{0: 80 * time.Hour, 1: 75 * time.Hour} {
		if got := RenewAt(start, start.Add(100*time.Hour), random).Sub(start); got.Round(time.Second) != want {
			t.Errorf("RenewAt(%v) = %s, want %s", random, got, want)
		}
	}
	for lifetime, want := range map[time.Duration]time.Duration{
		100 * time.Hour: 5 * time.Minute, time.Hour: 36 * time.Second,
		time.Second: time.Second,
	} {
		if got := CheckInterval(start, start.Add(lifetime)); got != want {
			t.Errorf("CheckInterval of %s = %s, want %s", lifetime, got, want)
		}
	}
}

// fakeHub holds requests of users, and signs every request with a subject. The agent is the user "bootstrap".
type fakeHub struct {
	held    map[string]int
	known   []certificatesv1.CertificateSigningRequest
	noUser  error
	listErr error
	getErr  error
	signAs  string
	created int
	stored  *certificatesv1.CertificateSigningRequest
	t       *testing.T
}

func (h *fakeHub) List(_ context.Context, _ client.Object, _ metav1.ListOptions, into runtime.Object) error {
	list := into.(*certificatesv1.CertificateSigningRequestList)
	list.Items = append(list.Items, h.known...)
	for user, number := range h.held {
		for range number {
			list.Items = append(list.Items, certificatesv1.CertificateSigningRequest{
				Spec: certificatesv1.CertificateSigningRequestSpec{Username: user},
			})
		}
	}
	return h.listErr
}

func (h *fakeHub) Create(_ context.Context, _ client.Object, body, into runtime.Object) error {
	if review, ok := into.(*authenticationv1.SelfSubjectReview); ok {
		review.Status.UserInfo.Username = "bootstrap"
		return h.noUser
	}
	h.created++
	h.stored = body.(*certificatesv1.CertificateSigningRequest).DeepCopy()
	h.stored.Name = "c1-x"
	h.stored.DeepCopyInto(into.(*certificatesv1.CertificateSigningRequest))
	return nil
}

func (h *fakeHub) Get(_ context.Context, _ client.Object, into runtime.Object) error {
	if h.getErr != nil {
		return h.getErr
	}
	out := into.(*certificatesv1.CertificateSigningRequest)
	h.stored.DeepCopyInto(out)
	out.Status.Certificate = h.sign()
	return nil
}

func (h *fakeHub) sign() []byte {
	block, _ := pem.Decode(h.stored.Spec.Request)
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		h.t.Fatal(err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		h.t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: h.signAs}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, request.PublicKey, key)
	if err != nil {
		h.t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func TestAttempt(t *testing.T) {
	resource := schema.GroupResource{Resource: "certificatesigningrequests"}
	for sentence, test := range map[string]struct {
		hub     fakeHub
		created int
		want    error
	}{
		"a certificate": {fakeHub{signAs: names().User()}, 1, nil},
		"nine requests of the agent": {
			fakeHub{signAs: names().User(), held: map[string]int{names().User(): 9, "other": 20}},
			1,
			nil,
		},
		"ten requests of the agent": {
			fakeHub{signAs: names().User(), held: map[string]int{names().User(): 10}},
			0,
			errManyRequests,
		},
		"ten requests of the bootstrap user": {
			fakeHub{signAs: names().User(), held: map[string]int{"bootstrap": 9, names().User(): 1}},
			0,
			errManyRequests,
		},
		"requests of other users with the label": {fakeHub{signAs: names().User(), held: map[string]int{"other": 400}}, 1, nil},
		"a hub that does not return the user": {fakeHub{
			signAs: names().User(), held: map[string]int{names().User(): 10},
			noUser: apierrors.NewForbidden(resource, "", nil),
		}, 0, errManyRequests},
		"the user is not read": {
			fakeHub{signAs: names().User(), held: map[string]int{"other": 10}, noUser: errBoom},
			0,
			errBoom,
		},
		"an identity that may not list":    {fakeHub{signAs: names().User(), listErr: apierrors.NewForbidden(resource, "", nil)}, 1, nil},
		"a certificate of another cluster": {fakeHub{signAs: "system:open-cluster-management:c2:a1"}, 1, errOtherKey},
		"a request that is removed before signing": {
			fakeHub{getErr: apierrors.NewNotFound(resource, "c1-x")},
			1,
			apierrors.NewNotFound(resource, "c1-x"),
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			test.hub.t = t
			r := &Requester{
				Hub: &test.hub, Clock: clock.RealClock{}, Random: func() float64 { return 0 }, Names: names(),
				Report: func(error) {}, Log: slog.New(slog.DiscardHandler),
			}
			pair, err := r.attempt(t.Context())
			same := errors.Is(err, test.want) || apierrors.IsNotFound(err) && apierrors.IsNotFound(test.want)
			if !same || test.hub.created != test.created {
				t.Errorf("%d requests, error %v; want %d, %v", test.hub.created, err, test.created, test.want)
			}
			if err == nil && (len(pair.Cert) == 0 || len(pair.Key) == 0) {
				t.Error("the key pair is empty")
			}
		})
	}
}

func TestAnAgentReportsItsMemberByOneRequestAlsoAfterARestart(t *testing.T) {
	request := func(uid string, kinds ...certificatesv1.RequestConditionType) certificatesv1.CertificateSigningRequest {
		out := certificatesv1.CertificateSigningRequest{}
		out.Name, out.Annotations = "c1-"+uid, map[string]string{clusterv1.ClusterUIDAnnotationKey: uid}
		for _, kind := range kinds {
			out.Status.Conditions = append(out.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{Type: kind})
		}
		return out
	}
	for sentence, test := range map[string]struct {
		known []certificatesv1.CertificateSigningRequest
		want  int
	}{
		"no request":               {nil, 1},
		"a request of this member": {[]certificatesv1.CertificateSigningRequest{request("u1")}, 0},
		"one of another member":    {[]certificatesv1.CertificateSigningRequest{request("u2")}, 1},
		"a request that failed":    {[]certificatesv1.CertificateSigningRequest{request("u1", certificatesv1.CertificateFailed)}, 1},
		"a request that was denied": {
			[]certificatesv1.CertificateSigningRequest{request("u1", certificatesv1.CertificateDenied)}, 0,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			hub := &fakeHub{known: test.known, t: t, stored: &certificatesv1.CertificateSigningRequest{}}
			hub.stored.Spec.Request = mustPEM(t)
			announcer := &Announcer{Hub: hub, Names: names(), UID: "u1", Log: slog.New(slog.DiscardHandler)}
			for range 3 {
				if err := announcer.Announce(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if hub.created != test.want {
				t.Errorf("%d requests were created, want %d", hub.created, test.want)
			}
		})
	}
}

// mustPEM returns a certificate request in PEM.
func mustPEM(t *testing.T) []byte {
	t.Helper()
	key, _, err := newKey()
	if err != nil {
		t.Fatal(err)
	}
	request, err := newRequest(names(), "u1", 0, key)
	if err != nil {
		t.Fatal(err)
	}
	return request.Spec.Request
}
