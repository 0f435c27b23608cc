package assumed

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// Timeout is how long a write counts whose object the informer does not have.
const Timeout = 2 * time.Minute

// Object is an object of the API server. Its zero value stands for an object that does not exist.
type Object interface {
	comparable
	metav1.Object
}

// Write is the last write of this process to one object. It is kept after the informer shows it, so that a later change by another client
// is recognized. The zero value has no write. It is not safe for concurrent use.
type Write[T Object] struct {
	object T
	// pending is set until the informer shows the write, at is when the API server returned it.
	pending bool
	at      time.Time
	// deleted is the uid of an object that this process deleted, until the informer shows the deletion.
	deleted types.UID
}

// Get returns the object as this process last wrote or accepted it; none without such a write.
func (w *Write[T]) Get() T { return w.object }

// Set assumes an object that the API server returned from a write. Cached is the object in the informer. Neither may be changed any more.
func (w *Write[T]) Set(object, cached T, now time.Time) {
	var none T
	w.object, w.pending, w.at = object, true, now
	if cached != none {
		w.Observe(cached)
	}
}

// Accept records a stored object as if this process had written it.
func (w *Write[T]) Accept(object T) { w.object = object }

// Delete assumes that this process deleted the object with a uid. The object may stay for its finalizers.
func (w *Write[T]) Delete(uid types.UID) {
	w.Reset()
	w.deleted = uid
}

// Reset drops the write. An assumed deletion stays.
func (w *Write[T]) Reset() {
	var none T
	w.object, w.pending = none, false
}

// Observe compares the assumptions with an object that the informer shows.
func (w *Write[T]) Observe(cached T) {
	var none T
	if w.object != none {
		w.pending = w.pending && Newer(w.object, cached)
		if SameVersion(w.object, cached) {
			w.object = cached // one copy is enough
		}
	}
	if w.deleted != cached.GetUID() {
		w.deleted = ""
	}
}

// ObserveDelete compares the assumptions with the deletion of an object that the informer shows.
func (w *Write[T]) ObserveDelete(uid types.UID) {
	var none T
	if w.object != none && w.object.GetUID() == uid {
		w.pending = false
	}
	if w.deleted == uid {
		w.deleted = ""
	}
}

// Expire ends the wait for a write whose object the informer does not have, once Timeout has passed. It reports whether it did.
func (w *Write[T]) Expire(cached T, now time.Time) bool {
	var none T
	expired := w.pending && cached == none && now.Sub(w.at) > Timeout
	w.pending = w.pending && !expired
	return expired
}

// Stored returns the object as it is most probably stored: the write until the informer shows it, and then the object in the informer; none
// if this process deleted that. The caller has passed to Observe or ObserveDelete what the informer shows.
func (w *Write[T]) Stored(cached T) T {
	var none T
	switch {
	case w.pending:
		return w.object
	case cached != none && w.deleted != "" && w.deleted == cached.GetUID():
		return none
	default:
		return cached
	}
}

// Changed reports whether another client changed, created or deleted the object since the write.
func (w *Write[T]) Changed(cached T) bool {
	var none T
	stored := w.Stored(cached)
	if stored == none || w.object == none {
		return stored != w.object
	}
	return !SameVersion(stored, w.object)
}

// Newer reports whether a is a later version than b.
func Newer(a, b metav1.Object) bool {
	order, err := resourceversion.CompareResourceVersion(a.GetResourceVersion(), b.GetResourceVersion())
	return err == nil && order > 0
}

// SameVersion reports whether a and b are the same version of the same object.
func SameVersion(a, b metav1.Object) bool {
	return a.GetUID() == b.GetUID() && a.GetResourceVersion() == b.GetResourceVersion()
}
