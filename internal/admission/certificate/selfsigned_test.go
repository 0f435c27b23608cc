package certificate

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// fakeHub stores one Secret.
type fakeHub struct {
	client.Client

	secret   *corev1.Secret
	writes   int
	readErr  error
	writeErr error
}

func (h *fakeHub) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	switch {
	case h.readErr != nil:
		return h.readErr
	case h.secret == nil:
		return apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, key.Name)
	}
	h.secret.DeepCopyInto(into.(*corev1.Secret))
	return nil
}

func (h *fakeHub) Apply(_ context.Context, object runtime.ApplyConfiguration, _ ...client.ApplyOption) error {
	if h.writeErr != nil {
		return h.writeErr
	}
	data := object.(*corev1apply.SecretApplyConfiguration).Data
	if len(data) > 0 {
		h.writes++
	}
	h.secret = &corev1.Secret{Data: data}
	h.secret.ResourceVersion = "1"
	return nil
}

// fakeAPIServer is the published names and CAs, empty at first.
type fakeAPIServer struct {
	names       []string
	authorities []byte
	applied     int
	err         error
}

// fakePublisher publishes a server with some names.
type fakePublisher struct {
	*fakeAPIServer

	names []string
}

func (f fakePublisher) Apply(_ context.Context, authorities []byte) error {
	if f.err != nil {
		return f.err
	}
	f.fakeAPIServer.names, f.authorities = f.names, authorities
	f.applied++
	return nil
}

func (f fakePublisher) UpdateCABundles(_ context.Context, authorities []byte) error {
	if f.err == nil && f.fakeAPIServer.names != nil {
		f.authorities = authorities
	}
	return f.err
}

func (f fakePublisher) CABundles(context.Context) ([][]byte, error) {
	if f.fakeAPIServer.names == nil {
		return nil, nil
	}
	return [][]byte{f.authorities}, nil
}

// newSelfSigned returns a Source with a fake clock, and its fake API server.
func newSelfSigned(to *fakeHub, at time.Time) (*SelfSigned, *fakeAPIServer) {
	out := &fakeAPIServer{}
	return &SelfSigned{
		served: newServed(), names: []string{"svc"}, clock: clocktesting.NewFakeClock(at), publisher: fakePublisher{out, []string{"svc"}},
		issue: issue,
		store: secretStore{reader: to, writer: to, key: types.NamespacedName{Namespace: "ns", Name: secretName}},
	}, out
}

func (s *SelfSigned) serveTLS(t *testing.T) *tls.Certificate {
	t.Helper()
	config := &tls.Config{}
	s.ConfigureTLS(config)
	out, err := config.GetCertificate(nil)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestRenew(t *testing.T) {
	to := &fakeHub{}
	o, apiServer := newSelfSigned(to, clock.RealClock{}.Now())
	config := &tls.Config{}
	o.ConfigureTLS(config)
	if _, err := config.GetCertificate(nil); !errors.Is(err, errNotYet) {
		t.Errorf("GetCertificate = %v, want %v", err, errNotYet)
	}
	for range 2 {
		if err := o.renew(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	<-o.Ready()
	if to.writes != 1 {
		t.Errorf("wrote %d times, want once", to.writes)
	}
	if apiServer.applied != 2 || !bytes.Equal(apiServer.authorities, to.secret.Data[caKey]) {
		t.Errorf("registered %d times, want the stored authorities each time", apiServer.applied)
	}
	if o.serveTLS(t).Leaf.VerifyHostname("svc") != nil {
		t.Error("the certificate is not for the server's name")
	}
	before := o.pair.Load()
	to.secret.Data[corev1.TLSCertKey] = []byte("spoilt")
	if err := o.renew(t.Context()); err != nil || to.writes != 2 || !o.pair.Load().equal(before) {
		t.Errorf("renew = %v after %d writes, want what was spoilt restored", err, to.writes)
	}
}

func TestRenewFails(t *testing.T) {
	for name, to := range map[string]*fakeHub{
		"reading": {readErr: errBoom},
		"writing": {writeErr: errBoom},
	} {
		t.Run(name, func(t *testing.T) {
			o, apiServer := newSelfSigned(to, clock.RealClock{}.Now())
			if err := o.renew(t.Context()); !errors.Is(err, errBoom) {
				t.Errorf("renew = %v, want the failure", err)
			}
			if apiServer.applied > 0 || o.pair.Load() != nil {
				t.Error("what was not stored is served or trusted")
			}
		})
	}
}

// TestPairsAreServedOnlyWhenRegistered renews while the CA cannot be published.
func TestPairsAreServedOnlyWhenRegistered(t *testing.T) {
	current, next := newKeyPair(t, "svc"), newKeyPair(t, "svc")
	to := &fakeHub{}
	o, apiServer := newSelfSigned(to, next.createdAt.Add(2*trustDelay))
	clock := clocktesting.NewFakeClock(o.clock.Now())
	o.clock = clock
	if err := o.store.save(t.Context(), rotationState{current: current, next: next}, "1"); err != nil {
		t.Fatal(err)
	}
	if err := o.syncStored(t.Context()); err != nil {
		t.Fatal(err)
	}
	renew := func(want error, served *keyPair) {
		t.Helper()
		if err := o.renew(t.Context()); !errors.Is(err, want) || !o.pair.Load().equal(served) {
			t.Fatalf("renew = %v, serving %v, want %v and the other pair served", err, o.pair.Load(), want)
		}
		clock.Step(pollInterval)
	}
	apiServer.err = errBoom
	renew(errBoom, current)
	renew(errBoom, current)
	apiServer.err = nil
	renew(nil, current) // and it is registered for the first time
	apiServer.authorities = current.caBundle
	renew(nil, current) // another program has taken it away again
	renew(nil, next)
	if err := o.renew(t.Context()); err != nil || to.writes != 2 {
		t.Errorf("renew = %v after %d writes, want nothing more to do", err, to.writes)
	}
}

func TestFollowServesWhatIsStored(t *testing.T) {
	to := &fakeHub{}
	leader, _ := newSelfSigned(to, clock.RealClock{}.Now())
	if err := leader.renew(t.Context()); err != nil {
		t.Fatal(err)
	}
	replica, _ := newSelfSigned(to, clock.RealClock{}.Now())
	done := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { done <- replica.runServing(ctx) }()
	<-replica.Ready()
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if !bytes.Equal(replica.serveTLS(t).Certificate[0], leader.serveTLS(t).Certificate[0]) {
		t.Error("the replica serves another certificate than the leader")
	}
}
