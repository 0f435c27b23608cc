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
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	authorizationv1 "k8s.io/api/authorization/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/membership/registration"
	"github.com/berth-project/berth/internal/membership/registration/approval"
)

const uid = "11111111-2222-3333-4444-555555555555"

var errBoom = errors.New("boom")

// faults are the writes that fail, and the answer of the permission review.
type faults struct {
	pin, approve, review error
	refuse               bool
	blocked              bool
}

// kit is a reconciler on a hub with the accepted cluster c1 and one request of it.
type kit struct {
	*reconciler
	client.WithWatch
}

func newKit(t *testing.T, fault *faults, requester string, groups ...string) kit {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clusterv1.AddToScheme(scheme), certificatesv1.AddToScheme(scheme), authorizationv1.AddToScheme(scheme),
		corev1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	cluster := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{
		Name: "c1", Annotations: map[string]string{clusterv1.JoinRequesterAnnotationKey: registration.JoinUser("c1")},
	}}
	cluster.Spec.HubAcceptsClient = true
	cluster.Status.Conditions = []metav1.Condition{{Type: clusterv1.ManagedClusterConditionHubAccepted, Status: "True", Reason: "A"}}
	hub := fake.NewClientBuilder().WithScheme(scheme).WithObjects(cluster, newRequest(t, requester, groups)).WithStatusSubresource(cluster).
		WithIndex(&certificatesv1.CertificateSigningRequest{}, requestsByCluster, clusterLabel).
		WithIndex(&clusterv1.ManagedCluster{}, clustersByMember, memberOf).Build()
	failing := interceptor.NewClient(hub, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			if fault.pin != nil {
				return fault.pin
			}
			return c.Patch(ctx, object, patch, options...)
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, _ string, object client.Object, _ ...client.SubResourceUpdateOption) error {
			if fault.approve != nil {
				return fault.approve
			}
			return c.Status().Update(ctx, object) // the fake client has no subresource approval
		},
		Delete: deleteWithUID,
		Create: func(_ context.Context, _ client.WithWatch, object client.Object, _ ...client.CreateOption) error {
			review, ok := object.(*authorizationv1.SubjectAccessReview)
			if ok {
				review.Status.Allowed = !fault.refuse
			}
			return fault.review
		},
	})
	r := &reconciler{
		client: failing, recorder: events.NewFakeRecorder(10), open: map[string]int{}, endedTokens: map[string]types.UID{},
		metrics: NewMetrics(prometheus.NewRegistry(), func() int { return 0 }),
		options: Options{
			Clock: clocktesting.NewFakeClock(time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)), MaxDuration: approval.DefaultMaxDuration,
			Blocked: func() bool { return fault.blocked },
		},
	}
	return kit{r, hub}
}

func newRequest(t *testing.T, requester string, groups []string) *certificatesv1.CertificateSigningRequest {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{
		CommonName: registration.AgentUser("c1", "a"), Organization: []string{registration.AgentGroup("c1")},
	}}, key)
	if err != nil {
		t.Fatal(err)
	}
	out := &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{
		Name: "r", UID: "request-r", Labels: map[string]string{clusterv1.ClusterNameLabelKey: "c1"},
		Annotations: map[string]string{clusterv1.ClusterUIDAnnotationKey: uid},
	}}
	out.Spec.Request = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
	out.Spec.SignerName, out.Spec.Usages = certificatesv1.KubeAPIServerClientSignerName,
		[]certificatesv1.KeyUsage{certificatesv1.UsageClientAuth}
	out.Spec.Username, out.Spec.Groups = requester, groups
	return out
}

// reconcile returns whether the request is approved and the recorded UID, after one pass.
func (k kit) reconcile(t *testing.T) (approved bool, pinned string, err error) {
	t.Helper()
	_, err = k.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKey{Name: "c1"}})
	request, cluster := &certificatesv1.CertificateSigningRequest{}, &clusterv1.ManagedCluster{}
	if err := errors.Join(k.Get(t.Context(), client.ObjectKey{Name: "r"}, request),
		k.Get(t.Context(), client.ObjectKey{Name: "c1"}, cluster)); err != nil {
		t.Fatal(err)
	}
	return approval.Finished(request), cluster.Annotations[clusterv1.ClusterUIDAnnotationKey], err
}

// TestAMemberIsRecordedBeforeItsRequestIsApproved fails each write once. No member gets a certificate without a record.
func TestAMemberIsRecordedBeforeItsRequestIsApproved(t *testing.T) {
	fault := &faults{pin: errBoom}
	k := newKit(t, fault, registration.JoinUser("c1"))
	if approved, pinned, err := k.reconcile(t); approved || pinned != "" || !errors.Is(err, errBoom) {
		t.Errorf("the record fails: approved %t, recorded %q, %v", approved, pinned, err)
	}
	*fault = faults{approve: errBoom}
	if approved, pinned, err := k.reconcile(t); approved || pinned != uid || !errors.Is(err, errBoom) {
		t.Errorf("the approval fails: approved %t, recorded %q, %v", approved, pinned, err)
	}
	*fault = faults{}
	if approved, pinned, err := k.reconcile(t); !approved || pinned != uid || err != nil {
		t.Errorf("nothing fails: approved %t, recorded %q, %v", approved, pinned, err)
	}
	*fault = faults{pin: errBoom, approve: errBoom}
	if _, _, err := k.reconcile(t); err != nil {
		t.Errorf("an approved request is written again: %v", err)
	}
}

func TestAJoinTokenIsGoodForOneCertificate(t *testing.T) {
	k := newKit(t, &faults{}, registration.JoinUser("c1"))
	if approved, _, err := k.reconcile(t); !approved || err != nil {
		t.Fatalf("the first request: approved %t, %v", approved, err)
	}
	cluster := &clusterv1.ManagedCluster{}
	if err := k.Get(t.Context(), client.ObjectKey{Name: "c1"}, cluster); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		clusterv1.ClusterUIDAnnotationKey: uid, clusterv1.JoinedRequestAnnotationKey: "request-r",
		clusterv1.AgentNameAnnotationKey: "a",
	}
	if !maps.Equal(cluster.Annotations, want) {
		t.Errorf("annotations are %v, want %v", cluster.Annotations, want)
	}
	second := newRequest(t, registration.JoinUser("c1"), nil)
	second.Name, second.UID = "r2", "request-r2"
	if err := k.Create(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	_, _, err := k.reconcile(t)
	if err := k.Get(t.Context(), client.ObjectKeyFromObject(second), second); err != nil {
		t.Fatal(err)
	}
	if approval.Finished(second) || k.pending() != 1 || err != nil {
		t.Errorf("the second request: conditions %v, pending %d, %v", second.Status.Conditions, k.pending(), err)
	}
}

func TestARenewalWaitsForItsPermission(t *testing.T) {
	fault := &faults{refuse: true}
	k := newKit(t, fault, registration.AgentUser("c1", "a"), registration.AgentGroup("c1"))
	if approved, _, err := k.reconcile(t); approved || err != nil || k.pending() != 1 {
		t.Errorf("refused: approved %t, pending %d, %v", approved, k.pending(), err)
	}
	*fault = faults{review: errBoom}
	if approved, _, err := k.reconcile(t); approved || !errors.Is(err, errBoom) {
		t.Errorf("the review fails: approved %t, %v", approved, err)
	}
	*fault = faults{blocked: true}
	if approved, _, err := k.reconcile(t); approved || err != nil {
		t.Errorf("another controller registers clusters: approved %t, %v", approved, err)
	}
	*fault = faults{}
	if approved, _, err := k.reconcile(t); !approved || err != nil || k.pending() != 0 {
		t.Errorf("allowed: approved %t, pending %d, %v", approved, k.pending(), err)
	}
}

// TestSetAgent records the agent of the certificate that was approved last, by the hub or by an administrator.
func TestSetAgent(t *testing.T) {
	first := func(uid types.UID, at int64) *certificatesv1.CertificateSigningRequest {
		out := newRequest(t, registration.JoinUser("c1"), nil)
		out.UID, out.Status.Conditions = uid, []certificatesv1.CertificateSigningRequestCondition{
			{Type: certificatesv1.CertificateApproved, LastUpdateTime: metav1.Unix(at, 0)},
		}
		return out
	}
	renewal := func(agent string, at int64) *certificatesv1.CertificateSigningRequest {
		out := first("renewal", at)
		out.Spec.Username, out.Spec.Groups = registration.AgentUser("c1", agent),
			[]string{registration.AgentGroup("c1"), registration.AgentsGroup}
		return out
	}
	written := func(uid types.UID, version string) *certificatesv1.CertificateSigningRequest {
		out := first(uid, 1)
		out.Name, out.ResourceVersion = string(uid), version
		return out
	}
	waiting, denied, foreign := first("w", 9), first("d", 9), first("f", 9)
	waiting.Status.Conditions = nil
	denied.Status.Conditions = append(denied.Status.Conditions,
		certificatesv1.CertificateSigningRequestCondition{Type: certificatesv1.CertificateDenied})
	foreign.Spec.SignerName = "example.com/other"
	type requests = []*certificatesv1.CertificateSigningRequest
	for sentence, test := range map[string]struct {
		requests         requests
		recorded, joined string
		want, wantJoined string
	}{
		"no request":                            {},
		"a first certificate":                   {requests{first("r1", 1)}, "", "", "a", "r1"},
		"of another agent than the recorded":    {requests{first("r1", 1)}, "b", "r0", "a", "r1"},
		"the request was recorded, and changed": {requests{first("r1", 1)}, "revoked", "r1", "revoked", "r1"},
		"a later request":                       {requests{first("r1", 1), first("r2", 2)}, "revoked", "r1", "a", "r2"},
		"an earlier request":                    {requests{first("r1", 1), first("r2", 2)}, "b", "r2", "b", "r2"},
		"a later request of the same second":    {requests{written("r1", "10"), written("r2", "11")}, "other", "r1", "a", "r2"},
		"requests that are not approved":        {requests{waiting, denied, foreign}, "", "", "", ""},
		"a renewal without a record":            {requests{renewal("old", 1), renewal("new", 2)}, "", "", "new", ""},
		"a renewal of another agent":            {requests{renewal("new", 2)}, "b", "", "b", ""},
		"a renewal after a first certificate":   {requests{first("r1", 1), renewal("b", 2)}, "", "", "a", "r1"},
	} {
		t.Run(sentence, func(t *testing.T) {
			cluster := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: "c1", Annotations: map[string]string{
				clusterv1.AgentNameAnnotationKey: test.recorded, clusterv1.JoinedRequestAnnotationKey: test.joined,
			}}}
			changed := setAgent(cluster, test.requests)
			agent, joined := cluster.Annotations[clusterv1.AgentNameAnnotationKey], cluster.Annotations[clusterv1.JoinedRequestAnnotationKey]
			if agent != test.want || joined != test.wantJoined || changed != (agent != test.recorded || joined != test.joined) {
				t.Errorf("agent %q of request %q, changed %t; want %q of %q", agent, joined, changed, test.want, test.wantJoined)
			}
		})
	}
}

// TestRequestsOfOtherUsersStarveNoAgent has more requests of others, all older, than are decided at a time.
func TestRequestsOfOtherUsersStarveNoAgent(t *testing.T) {
	request := func(name, user string, age time.Duration) *certificatesv1.CertificateSigningRequest {
		out := &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: name}}
		out.CreationTimestamp.Time, out.Spec.Username = time.Unix(1e9, 0).Add(-age), user
		return out
	}
	var requests []*certificatesv1.CertificateSigningRequest
	for i := range 2 * maxOpen {
		requests = append(requests, request(fmt.Sprintf("other-%03d", i), registration.AgentUser("c10", "a"), time.Hour))
	}
	requests = append(requests, request("agent", registration.AgentUser("c1", "b"), 0),
		request("joins", registration.JoinUser("c1"), time.Minute))
	cluster := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{
		Name: "c1", Annotations: map[string]string{clusterv1.JoinRequesterAnnotationKey: registration.JoinUser("c1")},
	}}
	got := first(slices.Clone(requests), "c1", cluster)
	if len(got) != maxOpen || got[0].Name != "joins" || got[1].Name != "agent" || got[2].Name != "other-000" {
		t.Errorf("%d requests, the first are %s, %s, %s", len(got), got[0].Name, got[1].Name, got[2].Name)
	}
	if got := first(requests, "c1", nil); got[0].Name != "agent" {
		t.Errorf("without a cluster, the first is %s", got[0].Name)
	}
}
