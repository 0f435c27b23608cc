package storage

import (
	"context"
	"fmt"
	"iter"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/berth-project/berth/internal/access"
	"github.com/berth-project/berth/internal/apiserver/history"
	"github.com/berth-project/berth/internal/apiserver/visibility"
)

const (
	// patience is how long a watcher may leave an event lying before its watch ends. It may start another where it stood.
	patience = 30 * time.Second
	// backlog is how many events wait for a watcher at most.
	backlog = 16
	// bookmarkPeriod is well below what the history remembers, so that a watch of little can be taken up again.
	bookmarkPeriod = time.Minute
	// farewell is how long before the end of a watch the last bookmark is sent.
	farewell = 2 * time.Second

	// MaxWatchesEach is how many watches one user may have at a time. Each takes a goroutine, and work whenever what its user
	// sees changes.
	MaxWatchesEach = 100
	// MaxWatches is how many watches there may be in all.
	MaxWatches = 2000
	// retrySeconds is when a caller with too many should try again.
	retrySeconds = 10
)

// Watch implements rest.Watcher. Without a resource version, or with "0", it starts with what there is.
func (s *Storage) Watch(ctx context.Context, options *metainternalversion.ListOptions) (watch.Interface, error) {
	who, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	start, err := s.start(options)
	if err != nil {
		return nil, err
	}
	release, ok := s.watches.Acquire(who.User)
	if !ok {
		return nil, apierrors.NewTooManyRequests(fmt.Sprintf("%d watches of one user and %d in all are the most: end one of yours, or share it",
			MaxWatchesEach, MaxWatches), retrySeconds)
	}
	ctx, stop := context.WithCancel(ctx)
	w := &watcher{
		release: release, storage: s, who: who, keep: selected(options), out: make(chan watch.Event, backlog), stop: stop,
		at: start, seen: start.World.ViewFor(who),
		bookmarks: options.AllowWatchBookmarks,
		announce:  options.AllowWatchBookmarks && wants(options.SendInitialEvents),
	}
	go w.run(ctx)
	return w, nil
}

func wants(flag *bool) bool { return flag != nil && *flag }

// start returns the moment whose sight the caller has already.
func (s *Storage) start(options *metainternalversion.ListOptions) (history.Moment, error) {
	revision, err := number(options.ResourceVersion)
	if err != nil {
		return history.Moment{}, err
	}
	if wants(options.SendInitialEvents) || revision == 0 && options.SendInitialEvents == nil {
		return history.Moment{World: visibility.Empty()}, s.reachable(options.ResourceVersion)
	}
	if revision == 0 {
		now, _ := s.history.Now()
		return now, nil
	}
	moment, err := s.history.At(revision)
	if err != nil {
		return history.Moment{}, expired()
	}
	return moment, nil
}

// watcher sends one caller the changes of its sight.
type watcher struct {
	storage *Storage
	who     access.Subject
	keep    func(visibility.Object) bool
	out     chan watch.Event
	stop    context.CancelFunc
	// release gives back the place among the watches of the caller.
	release func()
	// at is the moment up to which everything was sent, seen the sight of it.
	at   history.Moment
	seen *visibility.View
	// bookmarks are wanted; announce means one at the end of the first events.
	bookmarks, announce bool
}

// ResultChan implements watch.Interface.
func (w *watcher) ResultChan() <-chan watch.Event { return w.out }

// Stop implements watch.Interface.
func (w *watcher) Stop() { w.stop() }

func (w *watcher) run(ctx context.Context) {
	defer w.release()
	defer close(w.out)
	defer w.stop()
	timer := w.storage.clock.NewTimer(w.untilBookmark(ctx))
	defer timer.Stop()
	for due := false; ; {
		now, changed := w.storage.history.Now()
		if !w.advance(ctx, now) || due && !w.bookmark(ctx, nil) {
			return
		}
		due = false
		select {
		case <-ctx.Done():
			return
		case <-w.storage.history.Ended():
			return
		case <-changed:
		case <-timer.C():
			timer.Reset(w.untilBookmark(ctx))
			due = true
		}
	}
}

// untilBookmark is the time until the next bookmark: one period, or less if the watch ends earlier.
func (w *watcher) untilBookmark(ctx context.Context) time.Duration {
	if end, ok := ctx.Deadline(); ok {
		if left := end.Sub(w.storage.clock.Now()) - farewell; left > 0 {
			return min(left, bookmarkPeriod)
		}
	}
	return bookmarkPeriod
}

// advance sends all that lies between where the watcher stands and a moment. It returns false when the watch is over.
func (w *watcher) advance(ctx context.Context, to history.Moment) bool {
	if to.World != w.at.World {
		sees := to.World.ViewFor(w.who)
		delta := w.storage.history.Between(w.at, to)
		for event := range w.events(visibility.Changes(w.storage.kind, w.seen, sees, delta, w.keep), to) {
			if !w.send(ctx, event) {
				return false
			}
		}
		w.seen = sees
	}
	w.at = to
	if w.announce {
		w.announce = false
		return w.bookmark(ctx, map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	}
	return true
}

// events turns changes into events. All but the last name a revision from which nobody may go on, since the changes of
// a moment cannot be told apart by their revision.
func (w *watcher) events(changes iter.Seq[visibility.Change], to history.Moment) iter.Seq[watch.Event] {
	return func(yield func(watch.Event) bool) {
		var held *visibility.Change
		for change := range changes {
			if held != nil && !yield(w.event(*held, to.Partial())) {
				return
			}
			held = &change
		}
		if held != nil {
			yield(w.event(*held, to.Since()))
		}
	}
}

// event shows what was last in sight of an object that has left it, never what it has become.
func (w *watcher) event(change visibility.Change, revision uint64) watch.Event {
	switch {
	case change.After == nil:
		return watch.Event{Type: watch.Deleted, Object: w.storage.at(change.Before.Object, revision)}
	case change.Before == nil:
		return watch.Event{Type: watch.Added, Object: w.storage.at(change.After.Object, revision)}
	default:
		return watch.Event{Type: watch.Modified, Object: w.storage.at(change.After.Object, revision)}
	}
}

// bookmark tells the revision up to which everything was sent, to a watcher that wants to know.
func (w *watcher) bookmark(ctx context.Context, annotations map[string]string) bool {
	if !w.bookmarks {
		return true
	}
	object := w.storage.newOne()
	object.SetResourceVersion(text(w.at.Revision))
	object.SetAnnotations(annotations)
	return w.send(ctx, watch.Event{Type: watch.Bookmark, Object: object})
}

// send returns false when the watcher is gone, or took too long.
func (w *watcher) send(ctx context.Context, event watch.Event) bool {
	select {
	case w.out <- event:
		return true
	default:
	}
	timer := w.storage.clock.NewTimer(patience)
	defer timer.Stop()
	select {
	case w.out <- event:
		return true
	case <-ctx.Done():
		return false
	case <-timer.C():
		return false
	}
}
