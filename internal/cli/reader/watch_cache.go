package reader

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

// WatchCache keeps a copy of a part of the hub up to date.
type WatchCache struct {
	hub   *HubClient
	Scope Scope

	mu      sync.Mutex
	objects map[string]map[client.ObjectKey]client.Object
	// Changed holds one signal while changes are unread.
	Changed chan struct{}
	// sleep waits before another attempt, or until the context ends.
	sleep func(context.Context, time.Duration)
}

// NewWatchCache returns an empty cache of the objects in a scope.
func NewWatchCache(h *HubClient, of Scope) *WatchCache {
	return &WatchCache{
		hub: h, Scope: of, objects: map[string]map[client.ObjectKey]client.Object{}, Changed: make(chan struct{}, 1), sleep: Sleep,
	}
}

// ListAll reads every kind and returns the resource version to watch each from.
func (w *WatchCache) ListAll(ctx context.Context) (map[string]string, error) {
	defer w.hub.Progress.Done()
	at := map[string]string{}
	for _, k := range w.Scope.Kinds {
		var err error
		if at[k.Kind], err = w.list(ctx, k); err != nil {
			err = w.hub.requestError(err, "list", k, w.Scope.filter(k).Namespace)
			if k.hasView() && apierrors.IsForbidden(err) {
				err = fmt.Errorf("%w; --watch does not read the views of the manager: leave it out", err)
			}
			return nil, err
		}
	}
	return at, nil
}

// list reads a kind and replaces the cached objects.
func (w *WatchCache) list(ctx context.Context, k Kind) (string, error) {
	var read map[client.ObjectKey]client.Object
	at, err := w.hub.EachObject(ctx, k, w.Scope.filter(k), func() { read = map[client.ObjectKey]client.Object{} }, func(object client.Object) {
		read[client.ObjectKeyFromObject(object)] = object
	})
	if err != nil {
		return "", err
	}
	w.mu.Lock()
	w.objects[k.Kind] = read
	w.mu.Unlock()
	w.notify()
	return at, nil
}

func (w *WatchCache) notify() {
	select {
	case w.Changed <- struct{}{}:
	default: // one is waiting already
	}
}

// KeepCurrent watches a kind until the context ends; then it returns nil. A broken watch resumes at its last version, an
// expired one starts with a new list.
func (w *WatchCache) KeepCurrent(ctx context.Context, k Kind, at string) error {
	failures := 0
	for {
		next, seen, err := w.watch(ctx, k, at)
		at = next
		if seen {
			failures = 0
		}
		if err != nil && (apierrors.IsResourceExpired(err) || apierrors.IsGone(err)) {
			at, err = w.list(ctx, k)
		}
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // the caller ended the context
		case err == nil:
		case isPermanent(err):
			return w.hub.requestError(err, "watch", k, w.Scope.filter(k).Namespace)
		default:
			if failures++; failures == maxFailures {
				return fmt.Errorf("watching failed %d times in a row: %w", failures, w.hub.requestError(err, "watch", k, w.Scope.filter(k).Namespace))
			}
			w.sleep(ctx, min(retryLast, retryFirst<<(failures-1)))
		}
	}
}

// isPermanent reports errors that a retry does not cure.
func isPermanent(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apierrors.IsNotFound(err)
}

// Sleep waits, or until the context ends.
func Sleep(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-ctx.Done()
}

var errWatchEnded = errors.New("the hub ended the watch at once")

// watch follows a kind from a version on until the hub ends the watch, and returns the version that it came to, and
// whether anything was seen.
func (w *WatchCache) watch(ctx context.Context, k Kind, at string) (next string, seen bool, err error) {
	of := w.Scope.filter(k)
	options := &client.ListOptions{
		Namespace: of.Namespace, LabelSelector: of.selector,
		Raw: &metav1.ListOptions{ResourceVersion: at, AllowWatchBookmarks: true},
	}
	if of.name != "" {
		options.Raw.FieldSelector = "metadata.name=" + of.name
	}
	stream, err := w.hub.client.Watch(ctx, k.List(), options)
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
		w.handleEvent(k, event.Type, object)
	}
	if !seen {
		return at, false, errWatchEnded
	}
	return at, true, nil
}

// handleEvent updates the cache.
func (w *WatchCache) handleEvent(k Kind, what watch.EventType, object client.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch what {
	case watch.Deleted:
		delete(w.objects[k.Kind], client.ObjectKeyFromObject(object))
	case watch.Added, watch.Modified:
		dropFields(object)
		w.objects[k.Kind][client.ObjectKeyFromObject(object)] = object
	default: // a bookmark has only a resource version
		return
	}
	w.notify()
}

// Bundle returns the cached objects.
func (w *WatchCache) Bundle() (*file.Bundle, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var objects file.Objects
	for _, k := range w.Scope.Kinds {
		for _, object := range w.objects[k.Kind] {
			if err := addObject(&objects, object); err != nil {
				return nil, err
			}
		}
	}
	return file.NewBundle(objects), nil
}
