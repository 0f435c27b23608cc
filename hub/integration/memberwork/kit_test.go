package memberwork

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
	agentclient "github.com/berth-project/berth/internal/agent/client"
	"github.com/berth-project/berth/internal/agent/metrics"
	"github.com/berth-project/berth/internal/agent/work"
	"github.com/berth-project/berth/internal/agent/work/remote"
	"github.com/berth-project/berth/internal/membership/registration"
)

// ocmInterval is the time between two looks of an agent for another one.
const ocmInterval = 200 * time.Millisecond

// fixture is one cluster: its namespace on the hub, one of the same name on the member, and its agent.
type fixture struct {
	t *testing.T
	// at is the hub, to the member.
	at, to *hubtest.Hub
	// cluster names the cluster, and the namespace on the member.
	cluster string
	// hub and on are clients of administrators of the hub and of the member.
	hub, on *kit.Client
	// requests counts the writes of the agent, on both sides.
	requests *recorder
	log      testLog
	// url is how the agent reaches the hub by name, grace its grace period for evictions.
	url   string
	grace time.Duration
	// older has that the hub or the member returned to older data.
	older work.OlderData
	// identity is who the agent is on the member; nil is an administrator.
	identity *rest.Config
	stop     func()
	// held is what the agent reports about held evictions, metrics what it counts.
	held    held
	metrics *metrics.Metrics
	// undefined is why the member cannot store records.
	undefined held
}

// held is the last message about held evictions; nil before the first.
type held struct{ message atomic.Pointer[string] }

// Store keeps a message.
func (h *held) Store(message string) { h.message.Store(&message) }

func (h *held) String() string {
	if found := h.message.Load(); found != nil {
		return *found
	}
	return "nothing is known"
}

// newFixture returns a cluster of the hub of all tests, with a running agent.
func newFixture(t *testing.T) *fixture {
	t.Helper()
	return newFixtureOn(t, hub)
}

// newFixtureOn returns a cluster of a hub, with a running agent.
func newFixtureOn(t *testing.T, at *hubtest.Hub) *fixture {
	t.Helper()
	return newFixtureBetween(t, at, member, nil)
}

// newFixtureBetween returns a cluster of a hub and a member, with a running agent of an identity; nil is an administrator.
func newFixtureBetween(t *testing.T, at, to *hubtest.Hub, identity *rest.Config) *fixture {
	t.Helper()
	f := &fixture{
		t: t, at: at, to: to, hub: kit.New(t, at), on: kit.New(t, to), requests: &recorder{}, metrics: metrics.New(), identity: identity,
	}
	f.cluster = at.Namespace(t)
	f.url = f.cluster
	f.create(f.on, kit.Namespace(f.cluster))
	f.create(f.hub, kit.RoleBinding(f.cluster, "work", kit.ClusterRole(registration.WorkRole), kit.Group(registration.AgentGroup(f.cluster))))
	f.start()
	return f
}

// start starts the agent. A running agent is stopped before.
func (f *fixture) start() {
	f.t.Helper()
	if f.stop != nil {
		f.stop()
	}
	toHub := f.at.ConfigFor(f.t, registration.AgentUser(f.cluster, "a1"), registration.AgentGroup(f.cluster), registration.AgentsGroup)
	toMember := f.to.Config()
	if f.identity != nil {
		toMember = rest.CopyConfig(f.identity)
	}
	for _, config := range []*rest.Config{toHub, toMember} {
		config.QPS = -1
		config.Wrap(f.requests.wrap)
	}
	onHub, err1 := agentclient.New(toHub)
	records, err2 := agentclient.New(toMember)
	objects, err3 := remote.New(toMember, clock.RealClock{})
	kit.NoError(f.t, errors.Join(err1, err2, err3))
	agent := &work.Controller{
		Hub: onHub, Records: records, Member: objects, Cluster: f.cluster, HubHash: work.HubHash(f.url), AgentID: f.cluster,
		EvictionGrace: f.grace, OlderData: &f.older,
		OCMInterval: ocmInterval, Clock: clock.RealClock{}, Random: func() float64 { return 0.5 }, Report: func(error) {}, Held: f.held.Store,
		Metrics: f.metrics, Undefined: f.undefined.Store,
		Log: slog.New(slog.NewTextHandler(&f.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(f.t.Context()))
	ended := make(chan struct{})
	go func() { defer close(ended); agent.Run(ctx) }()
	var once sync.Once
	f.stop = func() { once.Do(func() { cancel(); <-ended }) }
	f.t.Cleanup(f.stop)
}

// testLog keeps the log of an agent, and writes it to stderr where a variable requires it.
type testLog struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *testLog) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if os.Getenv("BERTH_TEST_LOG") != "" {
		_, _ = os.Stderr.Write(line)
	}
	return l.text.Write(line)
}

func (l *testLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (f *fixture) create(to *kit.Client, objects ...client.Object) {
	f.t.Helper()
	to.MustCreate(objects...)
}

// newWork returns a work of the cluster with manifests in JSON, in which NS stands for its namespace on the member.
func (f *fixture) newWork(name string, manifests ...string) *workv1.ManifestWork {
	out := kit.Work(f.cluster, name)
	for _, text := range manifests {
		out.Spec.Workload.Manifests = append(out.Spec.Workload.Manifests, f.manifest(text))
	}
	return out
}

func (f *fixture) manifest(text string) workv1.Manifest {
	return workv1.Manifest{RawExtension: runtime.RawExtension{Raw: []byte(strings.ReplaceAll(text, "NS", f.cluster))}}
}

// deliver creates a work and waits until it is applied.
func (f *fixture) deliver(of *workv1.ManifestWork) {
	f.t.Helper()
	f.create(f.hub, of)
	f.awaitCondition(of, workv1.WorkApplied, metav1.ConditionTrue)
}

// change edits a work with retries.
func (f *fixture) change(of *workv1.ManifestWork, edit func(*workv1.ManifestWork)) {
	f.t.Helper()
	f.hub.AwaitChanged(of, func() {
		edit(of)
	})
}

// awaitCondition waits until a condition of the present generation has a status, and returns it.
func (f *fixture) awaitCondition(of *workv1.ManifestWork, kind string, status metav1.ConditionStatus) metav1.Condition {
	f.t.Helper()
	return f.hub.AwaitObservedCondition(of, kind, status, "")
}

// remove deletes a work and waits until it is gone.
func (f *fixture) remove(of *workv1.ManifestWork) {
	f.t.Helper()
	f.hub.MustDelete(of)
	f.hub.AwaitGone(of)
}

// gone returns an error while an object exists.
func (f *fixture) gone(ctx context.Context, from *kit.Client, object client.Object) error {
	err := from.Get(ctx, client.ObjectKeyFromObject(object), object)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err == nil {
		err = fmt.Errorf("%T %s exists: finalizers %v, deleted at %v", object, object.GetName(), object.GetFinalizers(),
			object.GetDeletionTimestamp())
	}
	return err
}

// configMap returns a ConfigMap of the member.
func (f *fixture) configMap(name string) *corev1.ConfigMap {
	return kit.ConfigMap(f.cluster, name)
}

// record returns the record of a work.
func (f *fixture) record(ctx context.Context, of string) (*workv1.AppliedManifestWork, error) {
	out := &workv1.AppliedManifestWork{}
	return out, f.on.Get(ctx, client.ObjectKey{Name: work.HubHash(f.cluster) + "-" + of}, out)
}

// recorder counts writes, and fails those that a test names.
type recorder struct {
	mu     sync.Mutex
	writes []string
	// fail returns whether a request fails; nil fails none.
	fail func(*http.Request) error
}

var errBoom = errors.New("boom")

func (r *recorder) wrap(next http.RoundTripper) http.RoundTripper { return roundTripper{r, next} }

func (r *recorder) list() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.writes...)
}

func (r *recorder) reset(fail func(*http.Request) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writes, r.fail = nil, fail
}

type roundTripper struct {
	*recorder

	next http.RoundTripper
}

func (t roundTripper) RoundTrip(request *http.Request) (*http.Response, error) {
	t.mu.Lock()
	if request.Method != http.MethodGet {
		t.writes = append(t.writes, request.Method+" "+request.URL.Path)
	}
	fail := t.fail
	t.mu.Unlock()
	if fail != nil {
		if err := fail(request); err != nil {
			return nil, err
		}
	}
	return t.next.RoundTrip(request)
}
