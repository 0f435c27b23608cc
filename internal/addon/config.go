package addon

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
	"github.com/berth-project/berth/internal/addon/plan"
	"github.com/berth-project/berth/internal/kube/apply"
	"github.com/berth-project/berth/internal/kube/when"
)

// The kinds of configurations that the controller watches, and their resources.
const (
	deploymentConfigKind, deploymentConfigs = "AddOnDeploymentConfig", "addondeploymentconfigs"
	templateKind, templates                 = "AddOnTemplate", "addontemplates"
)

const (
	// refreshInterval is how long the hash of a configuration of another kind counts. failedRefresh is that of the first failed read, which
	// doubles with each further one.
	refreshInterval, failedRefresh = time.Minute, 5 * time.Second
	// readTimeout bounds the reads of one pass, maxReads their number, concurrentReads how many run at once. What a pass leaves out is read
	// by the next, after nextReads.
	readTimeout, maxReads, concurrentReads, nextReads = 10 * time.Second, 64, 8, time.Second
	// maxKept bounds the configurations of other kinds that are kept.
	maxKept = 10_000
	// maxDoublings is how often the time until the next read doubles at most.
	maxDoublings = 4
)

// configReader reads the hashes of configurations. Those of the two kinds of add-ons come from the cache, all others from the API server.
type configReader struct {
	cached, live client.Reader
	mapper       meta.RESTMapper
	// pool has a place for each concurrent read.
	pool apply.Pool

	mu   sync.Mutex // guards read
	read map[plan.Object]readConfig
}

// readConfig is a configuration as it was last read, and until when that counts.
type readConfig struct {
	plan.Config

	until time.Time
	// failures counts the failed reads since the last good one.
	failures int
}

// watchedKind returns the kind of a watched resource; empty for another resource.
func watchedKind(object plan.Object) string {
	if object.Group != addonv1alpha1.GroupName {
		return ""
	}
	return map[string]string{deploymentConfigs: deploymentConfigKind, templates: templateKind}[object.Resource]
}

// object returns an empty configuration of a watched kind. It has no Go type, because its hash covers fields that a type may lack.
func object(kind string) *unstructured.Unstructured {
	out := &unstructured.Unstructured{}
	out.SetGroupVersionKind(addonv1alpha1.GroupVersion.WithKind(kind))
	return out
}

// readAll returns what is known of each configuration. Refresh is when the first of them has to be read again; 0 for never.
func (c *configReader) readAll(ctx context.Context, objects []plan.Object,
	now time.Time,
) (out map[plan.Object]plan.Config, refresh time.Duration) {
	out = make(map[plan.Object]plan.Config, len(objects))
	var live []plan.Object
	for _, name := range objects {
		kind := watchedKind(name)
		if kind == "" {
			live = append(live, name)
			continue
		}
		found := object(kind)
		out[name] = configOf(found, c.cached.Get(ctx, client.ObjectKey{Namespace: name.Namespace, Name: name.Name}, found))
	}
	c.readDue(ctx, live, now)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range live {
		found, known := c.read[name]
		if !known {
			found = readConfig{Config: plan.Config{Unread: true}}
		}
		out[name] = found.Config
		refresh = when.Shortest(refresh, max(nextReads, found.until.Sub(now)))
	}
	return out, refresh
}

// readDue reads the configurations whose last read does not count any more: those first that wait longest, and a bounded number.
func (c *configReader) readDue(ctx context.Context, live []plan.Object, now time.Time) {
	c.mu.Lock()
	due := slices.DeleteFunc(slices.Clone(live), func(name plan.Object) bool { return now.Before(c.read[name].until) })
	slices.SortStableFunc(due, func(a, b plan.Object) int { return c.read[a].until.Compare(c.read[b].until) })
	c.mu.Unlock()
	due = due[:min(len(due), maxReads)]
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	c.pool.Run(ctx, len(due), func(i int) { c.readLive(ctx, due[i], now) })
}

// configOf returns the configuration of an object that was read, or the fault of a read that failed.
func configOf(found *unstructured.Unstructured, err error) plan.Config {
	switch {
	case apierrors.IsNotFound(err):
		return plan.Config{Fault: "does not exist"}
	case apierrors.IsForbidden(err):
		return plan.Config{Fault: "may not be read: grant the manager the verb get on it"}
	case meta.IsNoMatchError(err):
		return plan.Config{Fault: "is of a kind that the hub does not serve"}
	case err != nil:
		return plan.Config{Unread: true}
	}
	hash, err := plan.SpecHash(found.Object)
	if err != nil {
		return plan.Config{Fault: "cannot be read: " + err.Error()}
	}
	return plan.Config{Hash: hash}
}

// readLive reads a configuration from the API server. After a failure the last hash counts on.
func (c *configReader) readLive(ctx context.Context, name plan.Object, now time.Time) {
	found, err := c.get(ctx, name)
	c.mu.Lock()
	defer c.mu.Unlock()
	before, known := c.read[name]
	out := readConfig{Config: configOf(found, err), until: now.Add(refreshInterval)}
	if err != nil {
		out.failures = before.failures + 1
		out.until = now.Add(min(failedRefresh<<min(before.failures, maxDoublings), refreshInterval))
	}
	if out.Unread {
		log.FromContext(ctx).Info("a configuration was not read, and is read again", "configuration", name.String(), "cause", err.Error())
		if before.Hash != "" {
			out.Config = before.Config
		}
	}
	if !known && len(c.read) >= maxKept {
		maps.DeleteFunc(c.read, func(_ plan.Object, kept readConfig) bool { return now.Sub(kept.until) > refreshInterval })
	}
	if known || len(c.read) < maxKept {
		c.read[name] = out
	}
}

func (c *configReader) get(ctx context.Context, name plan.Object) (*unstructured.Unstructured, error) {
	kind, err := c.mapper.KindFor(schema.GroupVersionResource{Group: name.Group, Resource: name.Resource})
	if err != nil {
		return nil, fmt.Errorf("finding the kind of %s: %w", name.Resource, err)
	}
	out := &unstructured.Unstructured{}
	out.SetGroupVersionKind(kind)
	if err := c.live.Get(ctx, client.ObjectKey{Namespace: name.Namespace, Name: name.Name}, out); err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	return out, nil
}
