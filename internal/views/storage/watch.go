package storage

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"

	"github.com/berth-project/berth/internal/kube/access"
	"github.com/berth-project/berth/internal/views/viewcache"
	"github.com/berth-project/berth/internal/views/visibility"
)

const (
	// sendTimeout is how long a client may leave an event unread before its watch ends.
	sendTimeout = 30 * time.Second
	// eventBuffer is how many events may wait for a client.
	eventBuffer = 16
	// bookmarkInterval is well below the retention of the cache, so that a watch with few events can be resumed.
	bookmarkInterval = time.Minute

	// MaxWatchesPerUser is how many watches one user may have at a time. Each takes a goroutine, and work for every change
	// that its user sees.
	MaxWatchesPerUser = 100
	// MaxWatches is how many watches all users together may have at a time.
	MaxWatches = 2000
	// retryAfterSeconds is when a caller with too many watches should try again.
	retryAfterSeconds = 10
)

// Watch implements rest.Watcher. Without a resource version, or with "0", it starts with an event for each visible object.
func (s *Storage) Watch(ctx context.Context, options *metainternalversion.ListOptions) (watch.Interface, error) {
	caller, err := callerFrom(ctx)
	if err != nil {
		return nil, err
	}
	start, err := s.startState(options)
	if err != nil {
		return nil, err
	}
	release, ok := s.watches.Acquire(caller.User)
	if !ok {
		return nil, apierrors.NewTooManyRequests(fmt.Sprintf("too many watches: the limit is %d for one user and %d in "+
			"all; end a watch, or share one",
			MaxWatchesPerUser, MaxWatches), retryAfterSeconds)
	}
	ctx, stop := context.WithCancel(ctx)
	w := &watcher{
		storage: s, caller: caller, matches: matcher(options), events: make(chan watch.Event, eventBuffer), stop: stop,
		state: start, view: start.Snapshot.ViewFor(caller),
		bookmarks: options.AllowWatchBookmarks, announceInitial: options.AllowWatchBookmarks && ptr.Deref(options.SendInitialEvents, false),
	}
	go func() {
		defer release()
		defer close(w.events)
		defer stop()
		w.run(ctx)
	}()
	return w, nil
}

// startState returns the state that the caller already has.
func (s *Storage) startState(options *metainternalversion.ListOptions) (viewcache.State, error) {
	revision, err := parseRevision(options.ResourceVersion)
	if err != nil {
		return viewcache.State{}, err
	}
	if ptr.Deref(options.SendInitialEvents, revision == 0) {
		return viewcache.State{Snapshot: visibility.Empty()}, s.checkReached(options.ResourceVersion)
	}
	if revision == 0 {
		return s.cache.Current(), nil
	}
	start, err := s.cache.At(revision)
	if err != nil {
		return viewcache.State{}, newExpired()
	}
	return start, nil
}

// watcher sends one caller the changes of the objects that it may see.
type watcher struct {
	storage *Storage

	caller  access.Subject
	matches func(visibility.Object) bool
	events  chan watch.Event
	stop    context.CancelFunc
	// state is the last state whose events are all sent, and view what the caller saw of it.
	state viewcache.State
	view  *visibility.View
	// bookmarks are wanted; announceInitial means a bookmark after the initial events.
	bookmarks, announceInitial bool
}

// ResultChan implements watch.Interface.
func (w *watcher) ResultChan() <-chan watch.Event { return w.events }

// Stop implements watch.Interface.
func (w *watcher) Stop() { w.stop() }

func (w *watcher) run(ctx context.Context) {
	ticker := w.storage.clock.NewTicker(bookmarkInterval)
	defer ticker.Stop()
	for {
		current, delta, changed := w.storage.cache.Since(w.state)
		if !w.advance(ctx, current, delta) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-w.storage.cache.Done():
			return
		case <-changed:
		case <-ticker.C():
			if w.bookmarks && !w.sendBookmark(ctx, nil) {
				return
			}
		}
	}
}

// advance sends the events that lead from the last state to another. It returns false when the watch is over.
func (w *watcher) advance(ctx context.Context, to viewcache.State, delta visibility.Delta) bool {
	view := to.Snapshot.ViewFor(w.caller)
	changes := slices.Collect(visibility.Changes(w.storage.kind, w.view, view, delta, w.matches))
	for i, change := range changes {
		revision := to.PartialRevision()
		if i == len(changes)-1 {
			revision = to.Revision
		}
		if !w.send(ctx, w.event(change, revision)) {
			return false
		}
	}
	w.state, w.view = to, view
	if w.announceInitial {
		w.announceInitial = false
		return w.sendBookmark(ctx, map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	}
	return true
}

// event returns the event of a change. A deleted object is shown as the caller last saw it.
func (w *watcher) event(change visibility.Change, revision uint64) watch.Event {
	switch {
	case change.After == nil:
		return watch.Event{Type: watch.Deleted, Object: w.storage.withRevision(change.Before.Object, revision)}
	case change.Before == nil:
		return watch.Event{Type: watch.Added, Object: w.storage.withRevision(change.After.Object, revision)}
	default:
		return watch.Event{Type: watch.Modified, Object: w.storage.withRevision(change.After.Object, revision)}
	}
}

// sendBookmark sends the revision of the state whose events are all sent.
func (w *watcher) sendBookmark(ctx context.Context, annotations map[string]string) bool {
	object := w.storage.newObject()
	object.SetResourceVersion(formatRevision(w.state.Revision))
	object.SetAnnotations(annotations)
	return w.send(ctx, watch.Event{Type: watch.Bookmark, Object: object})
}

// send returns false when the watch has ended, or the client left an event unread for too long.
func (w *watcher) send(ctx context.Context, event watch.Event) bool {
	timer := w.storage.clock.NewTimer(sendTimeout)
	defer timer.Stop()
	select {
	case w.events <- event:
		return true
	case <-ctx.Done():
		return false
	case <-timer.C():
		return false
	}
}
