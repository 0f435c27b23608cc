package cli

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-project/berth/internal/source/file"
)

const (
	// maxFailures is how often in a row a watch may fail before the command ends. The delay doubles from retryFirst to
	// retryLast: two minutes and a half in all.
	maxFailures           = 8
	retryFirst, retryLast = time.Second, 30 * time.Second
)

// watchCache keeps a copy of a part of the hub up to date.
type watchCache struct {
	hub   *hubClient
	scope scope

	mu      sync.Mutex
	objects map[string]map[client.ObjectKey]client.Object
	// changed holds one signal while changes are unread.
	changed chan struct{}
	// sleep waits before another attempt, or until the context ends.
	sleep func(context.Context, time.Duration)
}

func newWatchCache(h *hubClient, of scope) *watchCache {
	return &watchCache{
		hub: h, scope: of, objects: map[string]map[client.ObjectKey]client.Object{}, changed: make(chan struct{}, 1), sleep: sleep,
	}
}

// listAll reads every kind and returns the resource version to watch each from.
func (m *watchCache) listAll(ctx context.Context) (map[string]string, error) {
	defer m.hub.progress.done()
	at := map[string]string{}
	for _, k := range m.scope.kinds {
		var err error
		if at[k.kind], err = m.list(ctx, k); err != nil {
			err = m.hub.requestError(err, "list", k, m.scope.filter(k).namespace)
			if k.hasView() && apierrors.IsForbidden(err) {
				err = fmt.Errorf("%w; --watch does not read the views of the manager: leave it out", err)
			}
			return nil, err
		}
	}
	return at, nil
}

// list reads a kind and replaces the cached objects.
func (m *watchCache) list(ctx context.Context, k kind) (string, error) {
	var read map[client.ObjectKey]client.Object
	at, err := m.hub.eachObject(ctx, k, m.scope.filter(k), func() { read = map[client.ObjectKey]client.Object{} }, func(object client.Object) {
		read[client.ObjectKeyFromObject(object)] = object
	})
	if err != nil {
		return "", err
	}
	m.mu.Lock()
	m.objects[k.kind] = read
	m.mu.Unlock()
	m.notify()
	return at, nil
}

func (m *watchCache) notify() {
	select {
	case m.changed <- struct{}{}:
	default: // one is waiting already
	}
}

// keepCurrent watches a kind until the context ends; then it returns nil. A broken watch resumes at its last version, an
// expired one starts with a new list.
func (m *watchCache) keepCurrent(ctx context.Context, k kind, at string) error {
	failures := 0
	for {
		next, seen, err := m.watch(ctx, k, at)
		at = next
		if seen {
			failures = 0
		}
		if err != nil && (apierrors.IsResourceExpired(err) || apierrors.IsGone(err)) {
			at, err = m.list(ctx, k)
		}
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // whoever ended the context knows
		case err == nil:
		case isPermanent(err):
			return m.hub.requestError(err, "watch", k, m.scope.filter(k).namespace)
		default:
			if failures++; failures == maxFailures {
				return fmt.Errorf("watching failed %d times in a row: %w", failures, m.hub.requestError(err, "watch", k, m.scope.filter(k).namespace))
			}
			m.sleep(ctx, min(retryLast, retryFirst<<(failures-1)))
		}
	}
}

// isPermanent reports errors that a retry does not cure.
func isPermanent(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apierrors.IsNotFound(err)
}

// sleep waits, or until the context ends.
func sleep(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-ctx.Done()
}

var errWatchEnded = errors.New("the hub ended the watch at once")

// watch follows a kind from a version on until the hub ends the watch, and returns the version that it came to, and
// whether anything was seen.
func (m *watchCache) watch(ctx context.Context, k kind, at string) (next string, seen bool, err error) {
	of := m.scope.filter(k)
	options := &client.ListOptions{Namespace: of.namespace, Raw: &metav1.ListOptions{ResourceVersion: at, AllowWatchBookmarks: true}}
	if of.name != "" {
		options.Raw.FieldSelector = "metadata.name=" + of.name
	}
	stream, err := m.hub.client.Watch(ctx, k.list(), options)
	if err != nil {
		return at, false, err
	}
	defer stream.Stop()
	for event := range stream.ResultChan() {
		if event.Type == watch.Error {
			return at, seen, apierrors.FromObject(event.Object)
		}
		object, ok := event.Object.(client.Object)
		if !ok {
			return at, seen, fmt.Errorf("%T is no object", event.Object)
		}
		at, seen = object.GetResourceVersion(), true
		m.handleEvent(k, event.Type, object)
	}
	if !seen {
		return at, false, errWatchEnded
	}
	return at, true, nil
}

// handleEvent updates the cache.
func (m *watchCache) handleEvent(k kind, what watch.EventType, object client.Object) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch what {
	case watch.Deleted:
		delete(m.objects[k.kind], client.ObjectKeyFromObject(object))
	case watch.Added, watch.Modified:
		dropFields(object)
		m.objects[k.kind][client.ObjectKeyFromObject(object)] = object
	default: // a bookmark says only how far the hub is
		return
	}
	m.notify()
}

// bundle returns the cached objects.
func (m *watchCache) bundle() (*file.Bundle, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var objects file.Objects
	for _, k := range m.scope.kinds {
		for _, object := range m.objects[k.kind] {
			if err := addObject(&objects, object); err != nil {
				return nil, err
			}
		}
	}
	return file.NewBundle(objects), nil
}
