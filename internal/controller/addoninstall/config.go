package addoninstall

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
	"github.com/berth-project/berth/internal/addon"
	"github.com/berth-project/berth/internal/apply"
)

// The kinds of configurations that the controller watches, and their resources.
const (
	deploymentConfigKind, deploymentConfigs = "AddOnDeploymentConfig", "addondeploymentconfigs"
	templateKind, templates                 = "AddOnTemplate", "addontemplates"
)

const (
	// refreshInterval is how long the hash of a configuration of another kind counts. failedRefresh is that of a failed read.
	refreshInterval, failedRefresh = time.Minute, 5 * time.Second
	// readTimeout bounds each read, maxRead the configurations of other kinds that are kept.
	readTimeout, maxRead = 10 * time.Second, 10_000
)

// configReader reads the hashes of configurations. Those of the two kinds of add-ons come from the cache, all others from the API server.
type configReader struct {
	cached, live client.Reader
	mapper       meta.RESTMapper

	mu   sync.Mutex // guards read
	read map[addon.Object]readConfig
}

// readConfig is a configuration as it was last read, and until when that counts.
type readConfig struct {
	addon.Config

	until time.Time
}

// watchedKind returns the kind of a watched resource; empty for another resource.
func watchedKind(object addon.Object) string {
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

// readAll returns the hash or the fault of each configuration. Refresh is when the first of them has to be read again; 0 for never.
func (c *configReader) readAll(ctx context.Context, objects []addon.Object, now time.Time) (out map[addon.Object]addon.Config, refresh time.Duration) {
	out = make(map[addon.Object]addon.Config, len(objects))
	for _, name := range objects {
		if kind := watchedKind(name); kind != "" {
			found := object(kind)
			out[name] = configOf(found, c.cached.Get(ctx, client.ObjectKey{Namespace: name.Namespace, Name: name.Name}, found))
			continue
		}
		found := c.readLive(ctx, name, now)
		out[name] = found.Config
		refresh = apply.Earliest([]time.Duration{refresh, max(1, found.until.Sub(now))})
	}
	return out, refresh
}

// configOf returns the configuration of an object that was read, or the fault of a read that failed.
func configOf(found *unstructured.Unstructured, err error) addon.Config {
	switch {
	case apierrors.IsNotFound(err):
		return addon.Config{Fault: "does not exist"}
	case apierrors.IsForbidden(err):
		return addon.Config{Fault: "may not be read: grant the manager the verb get on it"}
	case meta.IsNoMatchError(err):
		return addon.Config{Fault: "is of a kind that the hub does not serve"}
	case err != nil:
		return addon.Config{Fault: "cannot be read now"}
	}
	hash, err := addon.SpecHash(found.Object)
	if err != nil {
		return addon.Config{Fault: "cannot be read: " + err.Error()}
	}
	return addon.Config{Hash: hash}
}

// readLive reads a configuration from the API server, unless the last read still counts. After a failure the last hash counts on.
func (c *configReader) readLive(ctx context.Context, name addon.Object, now time.Time) readConfig {
	c.mu.Lock()
	before, known := c.read[name]
	c.mu.Unlock()
	if known && now.Before(before.until) {
		return before
	}
	found, err := c.get(ctx, name)
	out := readConfig{configOf(found, err), now.Add(refreshInterval)}
	if out.Fault != "" {
		out.until = now.Add(failedRefresh)
	}
	if transient := err != nil && !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) && !meta.IsNoMatchError(err); transient {
		if ctx.Err() == nil {
			log.FromContext(ctx).Info("a configuration was not read, and is read again", "configuration", name.String(), "cause", err.Error())
		}
		if known && before.Hash != "" {
			out.Config = before.Config
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.read) >= maxRead {
		clear(c.read)
	}
	c.read[name] = out
	return out
}

func (c *configReader) get(ctx context.Context, name addon.Object) (*unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
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
