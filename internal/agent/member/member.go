package member

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/berth-project/berth/internal/agent/backoff"
	"github.com/berth-project/berth/internal/agent/broadcast"
	"github.com/berth-project/berth/internal/agent/client"
)

// refreshInterval is how often the version and the served claim kinds are read.
const refreshInterval = time.Minute

// Facts is what the agent reads of its member. It is read-only.
type Facts struct {
	// Complete is false until everything was read once.
	Complete bool
	// UID is that of the namespace kube-system.
	UID string
	// Version is the version of Kubernetes, such as v1.36.3.
	Version string
	// Nodes have only the fields that slim keeps.
	Nodes []*corev1.Node
	// Claims and Properties are the ClusterClaims and the ClusterProperties, by name, without those that stay on the member.
	Claims, Properties map[string]string
}

// Member reads a member. It is safe for concurrent use.
type Member struct {
	broadcast.Broadcast
	client *client.Client
	clock  clock.Clock
	log    *slog.Logger
	uid    string

	nodes      *nodeCache
	claims     *claimCache
	properties *claimCache

	mu      sync.Mutex
	health  Health
	version string
}

// New returns a member with a UID. Run reads the rest.
func New(c *client.Client, clk clock.Clock, log *slog.Logger, uid string) *Member {
	out := &Member{client: c, clock: clk, log: log, uid: uid}
	out.nodes = newNodeCache(c, out.Send)
	out.claims = newClaimCache(c, log, out.Send, clusterClaims())
	out.properties = newClaimCache(c, log, out.Send, clusterProperties()...)
	return out
}

// ReadUID returns the UID of the namespace kube-system, which identifies a cluster.
func ReadUID(ctx context.Context, c *client.Client) (string, error) {
	namespace := &corev1.Namespace{}
	if err := c.Get(ctx, client.Namespace(metav1.NamespaceSystem), namespace); err != nil {
		return "", err //nolint:wrapcheck // the client names the namespace
	}
	return string(namespace.UID), nil
}

// Run reads the member until the context ends.
func (m *Member) Run(ctx context.Context) {
	var running sync.WaitGroup
	running.Go(func() { m.nodes.run(ctx) })
	running.Go(func() { m.refreshLoop(ctx) })
	m.probeLoop(ctx)
	running.Wait()
	m.claims.stop()
	m.properties.stop()
}

// Health returns the result of the probes.
func (m *Member) Health() Health {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.health
}

// Facts returns what was read.
func (m *Member) Facts() Facts {
	m.mu.Lock()
	out := Facts{UID: m.uid, Version: m.version}
	m.mu.Unlock()
	nodes, haveNodes := m.nodes.list()
	claims, haveClaims := m.claims.list()
	properties, haveProperties := m.properties.list()
	out.Nodes, out.Claims, out.Properties = nodes, claims, properties
	out.Complete = haveNodes && haveClaims && haveProperties && out.Version != ""
	return out
}

// probeLoop probes the API server until the context ends.
func (m *Member) probeLoop(ctx context.Context) {
	for ctx.Err() == nil {
		failure, code := m.probe(ctx)
		if ctx.Err() != nil {
			return
		}
		m.mu.Lock()
		before := m.health
		m.health = before.observe(failure, m.clock.Now())
		m.health.Reached = reached(code)
		after := m.health
		m.mu.Unlock()
		if before.Known != after.Known || before.Healthy != after.Healthy {
			m.log.Info("health of the member changed", "healthy", after.Healthy, "message", after.Message)
			m.Send()
		} else if before.Reached != after.Reached {
			m.Send()
		}
		delay := probeInterval
		if after.failing() {
			delay = retryInterval
		}
		_ = backoff.Sleep(ctx, m.clock, delay) // the loop ends with the context
	}
}

func (m *Member) probe(ctx context.Context) (failure string, code int) {
	body, code, err := m.client.GetRaw(ctx, "/livez")
	if fallback(code) {
		body, code, err = m.client.GetRaw(ctx, "/healthz")
	}
	return probeFailure(body, code, err), code
}

// refreshLoop reads what cannot be watched until the context ends.
func (m *Member) refreshLoop(ctx context.Context) {
	for failures := 0; ctx.Err() == nil; {
		delay := refreshInterval
		if err := m.refresh(ctx); err != nil && ctx.Err() == nil {
			failures++
			m.log.Warn("reading the member failed", "error", err)
			delay = min(refreshInterval, time.Duration(failures)*retryInterval)
		} else {
			failures = 0
		}
		_ = backoff.Sleep(ctx, m.clock, delay) // the loop ends with the context
	}
}

func (m *Member) refresh(ctx context.Context) error {
	body, _, err := m.client.GetRaw(ctx, "/version")
	if err != nil {
		return err //nolint:wrapcheck // the client names the path
	}
	read := version.Info{}
	if err := json.Unmarshal(body, &read); err != nil {
		return fmt.Errorf("parsing the version of the member: %w", err)
	}
	m.mu.Lock()
	changed := m.version != read.GitVersion
	m.version = read.GitVersion
	m.mu.Unlock()
	if changed {
		m.Send()
	}
	for _, kind := range []*claimCache{m.claims, m.properties} {
		if err := kind.refresh(ctx); err != nil {
			return err
		}
	}
	return nil
}

// runInformer runs an informer until the context ends. It also reports that the first list is there: a list without objects has no event,
// and the member's facts are complete only then.
func runInformer(ctx context.Context, informer cache.Controller, changed func()) {
	var waiting sync.WaitGroup
	waiting.Go(func() {
		if cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
			changed()
		}
	})
	informer.RunWithContext(ctx)
	waiting.Wait()
}

// newInformer returns an informer of all objects of a kind, with no more of each object than transform keeps.
func newInformer(source cache.ListerWatcher, kind runtime.Object, transform cache.TransformFunc,
	changed func(),
) (cache.Store, cache.Controller) {
	return cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: source, ObjectType: kind, Transform: transform,
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc: func(any) { changed() }, UpdateFunc: func(any, any) { changed() }, DeleteFunc: func(any) { changed() },
		},
	})
}
