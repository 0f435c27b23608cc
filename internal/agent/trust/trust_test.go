package trust

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"log/slog"
	"math/big"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/agent/client"
	"github.com/berth-project/berth/internal/agent/cluster"
	"github.com/berth-project/berth/internal/membership/registration"
)

var errBoom = errors.New("boom")

// newCA returns a certificate in DER and in PEM.
func newCA(t *testing.T) (der, text []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	if der, err = x509.CreateCertificate(rand.Reader, template, template, key.Public(), key); err != nil {
		t.Fatal(err)
	}
	return der, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func TestTakesOnlyABundleThatVerifiesTheConnection(t *testing.T) {
	oldRoot, oldCA := newCA(t)
	newRoot, nextCA := newCA(t)
	both := slices.Concat(oldCA, nextCA)
	for sentence, test := range map[string]struct {
		current, published, root []byte
		want                     bool
	}{
		"the same bundle":                        {oldCA, oldCA, oldRoot, false},
		"the same certificates in another order": {both, slices.Concat(nextCA, oldCA), oldRoot, false},
		"the next CA is added":                   {oldCA, both, oldRoot, true},
		"the old CA is gone, and not in use":     {both, nextCA, newRoot, true},
		"the old CA is gone, and still in use":   {both, nextCA, oldRoot, false},
		"another CA":                             {oldCA, nextCA, oldRoot, false},
		"no connection yet":                      {oldCA, both, nil, false},
		"nothing is published":                   {oldCA, nil, oldRoot, false},
		"the agent trusts the system's CAs":      {nil, both, oldRoot, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := Takes(test.current, test.published, test.root); got != test.want {
				t.Errorf("Takes = %t, want %t", got, test.want)
			}
		})
	}
}

// fakeHub has one ConfigMap and one ManagedCluster; root is the CA of its connections.
type fakeHub struct {
	bundle  []byte
	cluster string
	updates []string
	root    []byte
	// read is called for each read of the ConfigMap; nil reads it.
	read     func() error
	failures int
	changed  <-chan struct{}
}

func (h *fakeHub) Get(_ context.Context, _ client.Object, into runtime.Object) error {
	if h.read != nil {
		if err := h.read(); err != nil {
			return err
		}
	}
	into.(*corev1.ConfigMap).Data = map[string]string{"ca.crt": string(h.bundle)}
	return nil
}

func (h *fakeHub) GetJSON(context.Context, client.Object) ([]byte, error) {
	return []byte(h.cluster), nil
}

func (h *fakeHub) UpdateJSON(_ context.Context, _ client.Object, body []byte, _ runtime.Object) error {
	h.updates = append(h.updates, string(body))
	return nil
}

func (h *fakeHub) Root() []byte                   { return h.root }
func (h *fakeHub) Failures() int                  { return h.failures }
func (h *fakeHub) Wait(ctx context.Context) error { return ctx.Err() }
func (h *fakeHub) Changed() <-chan struct{}       { return h.changed }

func (h *fakeHub) State() cluster.State {
	out := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: "c1"}}
	if err := json.Unmarshal([]byte(h.cluster), out); err != nil {
		panic(err)
	}
	return cluster.State{Cluster: out, Access: cluster.Present}
}

func TestFollowStoresTheBundleOrReportsItsHash(t *testing.T) {
	root, ca := newCA(t)
	_, next := newCA(t)
	hash, err := registration.CABundleHash(ca)
	if err != nil {
		t.Fatal(err)
	}
	const cluster = `{"metadata":{"name":"c1","resourceVersion":"7","annotations":{"a":"b"}},"spec":{"unknownField":12345678901234567890}}`
	for sentence, test := range map[string]struct {
		published []byte
		cluster   string
		stores    bool
		updates   int
	}{
		"another bundle is stored, and reported by the next session": {slices.Concat(ca, next), cluster, true, 0},
		"the hash is reported": {ca, cluster, false, 1},
		"the hash is reported once": {
			ca, strings.Replace(cluster, `"a":"b"`, `"`+registration.CAHashAnnotationKey+`":"`+hash+`"`, 1), false,
			0,
		},
		"a wrong bundle is not taken": {next, cluster, false, 1},
	} {
		t.Run(sentence, func(t *testing.T) {
			hub, stored := &fakeHub{bundle: test.published, cluster: test.cluster, root: root}, false
			f := &Follower{
				Hub: hub, Gate: hub, Cluster: hub, Name: "c1", Bundle: ca, Log: slog.New(slog.DiscardHandler),
				Store: func(context.Context, []byte) error { stored = true; return nil },
			}
			taken, err := f.follow(t.Context())
			if err != nil || taken != test.stores || stored != test.stores || len(hub.updates) != test.updates {
				t.Fatalf("taken %t, stored %t, updates %v, error %v", taken, stored, hub.updates, err)
			}
			for _, update := range hub.updates {
				for _, part := range []string{hash, `"a":"b"`, `"resourceVersion":"7"`, `"unknownField":12345678901234567890`} {
					if !strings.Contains(update, part) {
						t.Errorf("the update %s lacks %s", update, part)
					}
				}
			}
		})
	}
}

func TestFollowReturnsTheErrorOfTheStore(t *testing.T) {
	root, ca := newCA(t)
	_, next := newCA(t)
	hub := &fakeHub{bundle: slices.Concat(ca, next), cluster: `{}`, root: root}
	f := &Follower{
		Hub: hub, Gate: hub, Cluster: hub, Bundle: ca, Log: slog.New(slog.DiscardHandler),
		Store: func(context.Context, []byte) error { return errBoom },
	}
	if taken, err := f.follow(t.Context()); taken || !errors.Is(err, errBoom) {
		t.Errorf("taken %t, error %v", taken, err)
	}
}

// TestRunReadsSoonAfterAnInterruption runs in fake time. The hub restarts at the last read of each case.
func TestRunReadsSoonAfterAnInterruption(t *testing.T) {
	root, ca := newCA(t)
	refusal := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "kube-root-ca.crt", errBoom)
	for sentence, test := range map[string]struct {
		response error
		minutes  []int
	}{
		"a hub that responds is read once a day":         {nil, []int{0, 1, 3, 7, 15, 24*60 + 15}},
		"a hub that refuses is read as often":            {refusal, []int{0, 1, 3, 7, 15, 24*60 + 15}},
		"a hub that fails is read again after 8 minutes": {errBoom, []int{0, 1, 3, 7, 15, 23}},
	} {
		t.Run(sentence, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				hub := &fakeHub{bundle: ca, cluster: `{"spec":{"hubAcceptsClient":true}}`, root: root}
				started := time.Now()
				var reads, want []time.Duration
				for _, minute := range test.minutes {
					want = append(want, time.Duration(minute)*time.Minute)
				}
				want = append(want, want[len(want)-1]+lookInterval)
				hub.read = func() error {
					reads = append(reads, time.Since(started))
					switch len(reads) {
					case len(test.minutes):
						hub.failures++
					case len(want):
						stop()
					}
					return test.response
				}
				f := &Follower{Hub: hub, Gate: hub, Cluster: hub, Clock: clock.RealClock{}, Name: "c1", Bundle: ca, Log: slog.New(slog.DiscardHandler)}
				f.Run(ctx)
				if diff := cmp.Diff(want, reads); diff != "" {
					t.Errorf("the times of the reads (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestRunReadsWhenTheClusterIsAccepted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		root, ca := newCA(t)
		accepted := make(chan struct{})
		hub := &fakeHub{bundle: ca, cluster: `{}`, root: root, changed: accepted, read: func() error { stop(); return nil }}
		time.AfterFunc(time.Hour, func() {
			hub.cluster = `{"spec":{"hubAcceptsClient":true}}`
			close(accepted)
		})
		started := time.Now()
		f := &Follower{Hub: hub, Gate: hub, Cluster: hub, Clock: clock.RealClock{}, Name: "c1", Bundle: ca, Log: slog.New(slog.DiscardHandler)}
		f.Run(ctx)
		if took := time.Since(started); took != time.Hour {
			t.Errorf("the bundle was read after %s, want an hour", took)
		}
	})
}
