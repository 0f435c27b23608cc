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

// hub keeps one Secret.
type hub struct {
	client.Client

	secret   *corev1.Secret
	writes   int
	readErr  error
	writeErr error
}

func (h *hub) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	switch {
	case h.readErr != nil:
		return h.readErr
	case h.secret == nil:
		return apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, key.Name)
	}
	h.secret.DeepCopyInto(into.(*corev1.Secret))
	return nil
}

func (h *hub) Apply(_ context.Context, object runtime.ApplyConfiguration, _ ...client.ApplyOption) error {
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

// own returns a source whose clock stands, and the authorities that it told to trust.
func own(to *hub, at time.Time) (o *Own, told *[][]byte) {
	told = new([][]byte)
	o = &Own{
		served: newServed(), names: []string{"svc"}, clock: clocktesting.NewFakeClock(at),
		store: store{reader: to, writer: to, key: types.NamespacedName{Namespace: "ns", Name: secretName}},
	}
	o.trust = []Trust{func(_ context.Context, authorities []byte) error {
		*told = append(*told, authorities)
		return nil
	}}
	return o, told
}

func (o *Own) serving(t *testing.T) *tls.Certificate {
	t.Helper()
	config := &tls.Config{}
	o.TLS(config)
	out, err := config.GetCertificate(nil)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestRenew(t *testing.T) {
	to := &hub{}
	o, told := own(to, clock.RealClock{}.Now())
	config := &tls.Config{}
	o.TLS(config)
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
	if len(*told) != 2 || !bytes.Equal((*told)[0], to.secret.Data[authoritiesKey]) {
		t.Errorf("told %d times, want the stored authorities each time", len(*told))
	}
	if o.serving(t).Leaf.VerifyHostname("svc") != nil {
		t.Error("the certificate is not for the server's name")
	}
	to.secret.Data[corev1.TLSCertKey] = []byte("spoilt")
	if err := o.renew(t.Context()); err != nil || to.writes != 2 {
		t.Errorf("renew = %v after %d writes, want what was spoilt mended", err, to.writes)
	}
}

func TestRenewFails(t *testing.T) {
	for name, to := range map[string]*hub{
		"reading": {readErr: errBoom},
		"writing": {writeErr: errBoom},
	} {
		t.Run(name, func(t *testing.T) {
			o, told := own(to, clock.RealClock{}.Now())
			if err := o.renew(t.Context()); !errors.Is(err, errBoom) {
				t.Errorf("renew = %v, want the failure", err)
			}
			if len(*told) > 0 || o.pair.Load() != nil {
				t.Error("what was not stored is served or trusted")
			}
		})
	}
}

func TestOneWhoCannotBeToldKeepsNobodyElse(t *testing.T) {
	o, told := own(&hub{}, clock.RealClock{}.Now())
	o.trust = append([]Trust{func(context.Context, []byte) error { return errBoom }}, o.trust...)
	if err := o.renew(t.Context()); !errors.Is(err, errBoom) || len(*told) != 1 {
		t.Errorf("renew = %v after telling %d, want the failure and the other told", err, len(*told))
	}
}

// TestNobodyIsServedWhatSomebodyDoesNotTrust renews while one of those who trust cannot be told.
func TestNobodyIsServedWhatSomebodyDoesNotTrust(t *testing.T) {
	current, next := made(t, "svc"), made(t, "svc")
	to := &hub{}
	o, _ := own(to, next.since.Add(2*overlap))
	clock := clocktesting.NewFakeClock(o.clock.Now())
	fault := errBoom
	o.clock, o.trust = clock, append(o.trust, func(context.Context, []byte) error { return fault })
	if err := o.store.save(t.Context(), state{current: current, next: next}, "1"); err != nil {
		t.Fatal(err)
	}
	renew := func(want error, served *pair) {
		t.Helper()
		if err := o.renew(t.Context()); !errors.Is(err, want) || !o.pair.Load().same(served) {
			t.Fatalf("renew = %v, serving %v, want %v and the other pair served", err, o.pair.Load(), want)
		}
		clock.Step(look)
	}
	renew(errBoom, current)
	renew(errBoom, current)
	fault = nil
	renew(nil, current) // and it is told for the first time
	renew(nil, next)
	if err := o.renew(t.Context()); err != nil || to.writes != 2 {
		t.Errorf("renew = %v after %d writes, want nothing more to do", err, to.writes)
	}
}

func TestFollowServesWhatIsStored(t *testing.T) {
	to := &hub{}
	leader, _ := own(to, clock.RealClock{}.Now())
	if err := leader.renew(t.Context()); err != nil {
		t.Fatal(err)
	}
	replica, _ := own(to, clock.RealClock{}.Now())
	done := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { done <- replica.follow(ctx) }()
	<-replica.Ready()
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if !bytes.Equal(replica.serving(t).Certificate[0], leader.serving(t).Certificate[0]) {
		t.Error("the replica serves another certificate than the leader")
	}
}
