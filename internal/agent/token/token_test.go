package token

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/agent/client"
	"github.com/berth-project/berth/internal/agent/credential"
)

var errBoom = errors.New("boom")

// fakeHub has one ManagedCluster.
type fakeHub struct {
	cluster   clusterv1.ManagedCluster
	err       error
	requested []client.Object
	seconds   int64
	announced []string // the UIDs of members in certificate requests
	missing   bool     // the request was removed
}

func (h *fakeHub) Get(_ context.Context, _ client.Object, into runtime.Object) error {
	cluster, ok := into.(*clusterv1.ManagedCluster)
	switch {
	case ok:
		h.cluster.DeepCopyInto(cluster)
	case h.missing:
		return apierrors.NewNotFound(schema.GroupResource{Resource: "certificatesigningrequests"}, "c1-x")
	}
	return nil
}

func (h *fakeHub) Create(_ context.Context, object client.Object, body, into runtime.Object) error {
	if request, ok := body.(*certificatesv1.CertificateSigningRequest); ok {
		h.announced = append(h.announced, request.Annotations[clusterv1.ClusterUIDAnnotationKey])
		into.(*certificatesv1.CertificateSigningRequest).Name = "c1-x"
		return nil
	}
	h.requested, h.seconds = append(h.requested, object), *body.(*authenticationv1.TokenRequest).Spec.ExpirationSeconds
	into.(*authenticationv1.TokenRequest).Status.Token = "t"
	return h.err
}

// List refuses, as the hub refuses it to a join token.
func (h *fakeHub) List(context.Context, client.Object, metav1.ListOptions, runtime.Object) error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: "certificatesigningrequests"}, "", errBoom)
}

func TestObtain(t *testing.T) {
	resource := schema.GroupResource{Resource: "serviceaccounts"}
	for sentence, test := range map[string]struct {
		accepted bool
		recorded string
		err      error
		want     error
		requests int
	}{
		"accepted":                             {true, "", nil, nil, 1},
		"accepted as this member":              {true, "u1", nil, nil, 1},
		"accepted as another member":           {true, "u2", nil, errOther, 0},
		"not accepted":                         {false, "", nil, errNotAccepted, 0},
		"the join token is used up":            {true, "", apierrors.NewForbidden(resource, "berth-agent", errBoom), errRefused, 1},
		"the account is deleted":               {true, "", apierrors.NewNotFound(resource, "berth-agent"), errNoAccount, 1},
		"the hub fails":                        {true, "", errBoom, errBoom, 1},
		"the hub does not accept the identity": {true, "", apierrors.NewUnauthorized("no"), nil, 1},
	} {
		t.Run(sentence, func(t *testing.T) {
			hub := &fakeHub{err: test.err}
			hub.cluster.Spec.HubAcceptsClient = test.accepted
			hub.cluster.Annotations = map[string]string{clusterv1.ClusterUIDAnnotationKey: test.recorded}
			ctx, end := context.WithCancel(t.Context())
			var reported error
			r := &Requester{
				Hub: hub, Clock: clocktesting.NewFakeClock(time.Unix(0, 0)), Random: func() float64 { return 0 },
				Names: credential.Names{Cluster: "c1", Agent: "a1"}, UID: "u1",
				Log: slog.New(slog.DiscardHandler),
				Report: func(err error) {
					if err != nil {
						reported = err
						end() // the test does not wait for the next attempt
					}
				},
			}
			got, err := r.Obtain(ctx)
			if !errors.Is(reported, test.want) || len(hub.requested) != test.requests {
				t.Errorf("reported %v after %v, want %v after %d requests", reported, hub.requested, test.want, test.requests)
			}
			if test.want == nil && test.err == nil && (got != "t" || err != nil || hub.seconds != 86400 || hub.requested[0].Namespace != "c1") {
				t.Errorf("Obtain = %q, %v of %v for %d seconds", got, err, hub.requested, hub.seconds)
			}
			if test.want == nil && test.err != nil && !errors.Is(err, test.err) {
				t.Errorf("Obtain returned %v, want %v", err, test.err)
			}
		})
	}
}

func TestAMemberThatIsNotTheRecordedOneReportsItselfOnce(t *testing.T) {
	hub := &fakeHub{}
	hub.cluster.Spec.HubAcceptsClient = true
	hub.cluster.Annotations = map[string]string{clusterv1.ClusterUIDAnnotationKey: "u2"}
	r := &Requester{Hub: hub, Names: credential.Names{Cluster: "c1", Agent: "a1"}, UID: "u1", Log: slog.New(slog.DiscardHandler)}
	attempts := func(number, want int) {
		t.Helper()
		for range number {
			if _, err := r.attempt(t.Context()); !errors.Is(err, errOther) {
				t.Fatal(err)
			}
		}
		if len(hub.announced) != want || hub.announced[0] != "u1" || len(hub.requested) > 0 {
			t.Errorf("requests of the members %v, want %d of u1, and tokens of %v", hub.announced, want, hub.requested)
		}
	}
	attempts(3, 1)
	hub.missing = true // the hub removes requests that are not decided
	attempts(1, 2)
}

func TestRenewAtIsHalfOfTheLifeAndUpToATenthMore(t *testing.T) {
	from := time.Unix(0, 0)
	for random, want := range map[float64]time.Duration{0: 50 * time.Hour, 1: 60 * time.Hour} {
		if got := RenewAt(from, from.Add(100*time.Hour), random).Sub(from); got.Round(time.Second) != want {
			t.Errorf("RenewAt(%v) = %s, want %s", random, got, want)
		}
	}
}
