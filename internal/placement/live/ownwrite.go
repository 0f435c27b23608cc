package live

import (
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-project/berth/engine/fleet"
)

// ownWrite stores the last write of this process to one object. The informer shows that write later, and it also shows
// the writes of other clients. The zero value has no write. It is not safe for concurrent use.
type ownWrite[T interface {
	comparable
	metav1.Object
}] struct {
	object T
	// pending is set until the informer shows the write, overdue if it was pending at the last call of Expire.
	pending, overdue bool
	// deletedUID is the uid of an object that this process deleted, until the informer shows the deletion.
	deletedUID types.UID
}

// Get returns the object as this process last wrote or accepted it; nil without such a write.
func (o *ownWrite[T]) Get() T { return o.object }

// Set records an object that the API server returned from a write. cached is the object in the informer; nil if the
// informer does not have it.
func (o *ownWrite[T]) Set(object, cached T) {
	var none T
	if o.object = object; cached != none && sameVersion(cached, object) {
		o.object = cached // one copy is enough
	}
	o.pending = cached == none || newer(object, cached)
}

// Accept records a stored object as if this process had written it.
func (o *ownWrite[T]) Accept(object T) { o.object = object }

// Delete records that this process deleted the object.
func (o *ownWrite[T]) Delete(uid types.UID) {
	o.Reset()
	o.deletedUID = uid
}

// Reset drops the write.
func (o *ownWrite[T]) Reset() {
	var none T
	o.object, o.pending = none, false
}

// Observe compares the write with an object that the informer shows.
func (o *ownWrite[T]) Observe(cached T) {
	var none T
	if o.pending && !newer(o.object, cached) {
		o.pending = false
	}
	if o.object != none && sameVersion(o.object, cached) {
		o.object = cached // one copy is enough
	}
}

// ObserveDelete compares the write with a deletion that the informer shows.
func (o *ownWrite[T]) ObserveDelete(uid types.UID) {
	var none T
	if o.object != none && o.object.GetUID() == uid {
		o.pending = false
	}
	o.deletedUID = ""
}

// Stored returns the object that the API server most probably has: the write until the informer shows it, and then the
// object in the informer. It is nil if the object most probably does not exist.
func (o *ownWrite[T]) Stored(cached T) T {
	var none T
	switch {
	case o.pending:
		return o.object
	case cached != none && o.deletedUID != "" && cached.GetUID() == o.deletedUID:
		return none
	default:
		return cached
	}
}

// Changed reports whether another client changed, created or deleted the object since the write.
func (o *ownWrite[T]) Changed(cached T) bool {
	var none T
	stored := o.Stored(cached)
	if stored == none || o.object == none {
		return stored != o.object
	}
	return !sameVersion(stored, o.object)
}

// Expire reports whether the write is still pending since the call before, and stops waiting for it. The informer never
// shows an object that was created and deleted while a watch was broken.
func (o *ownWrite[T]) Expire() bool {
	expired := o.pending && o.overdue
	o.pending, o.overdue = o.pending && !expired, o.pending && !expired
	return expired
}

// attempts are the slices that this process sent to the API server without a response so far. If such a write was stored, the
// clusters in it may have been seen as selected, so they must not become newcomers because the response was lost.
type attempts map[fleet.Key][]fleet.Slice

// maxAttempts bounds the contents of one slice. More are sent only in an outage in which the fleet changes all the time. The
// oldest is dropped first.
const maxAttempts = 16

// add adds the content of a slice that is about to be sent.
func (a attempts) add(name fleet.Key, content fleet.Slice) {
	contents := a[name]
	if last := len(contents) - 1; last >= 0 && equality.Semantic.DeepEqual(contents[last], content) {
		return
	}
	if len(contents) == maxAttempts {
		contents = contents[1:]
	}
	a[name] = append(contents, content)
}

// has reports whether the content of a slice was sent.
func (a attempts) has(name fleet.Key, content fleet.Slice) bool {
	for _, sent := range a[name] {
		if equality.Semantic.DeepEqual(sent, content) {
			return true
		}
	}
	return false
}
