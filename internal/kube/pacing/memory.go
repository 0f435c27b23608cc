package pacing

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// Object is an object that a Memory holds. T is the type itself.
type Object[T any] interface {
	comparable
	metav1.Object
	DeepCopy() T
}

// Memory holds the last writes of this process to the objects of one owner until the cache shows them. It is bounded by these objects,
// and by time. The zero value is empty. It is safe for concurrent use.
type Memory[T Object[T]] struct {
	mu sync.Mutex
	// stored are objects that were created or changed, deleted the uids of objects that were deleted without a trace.
	stored  map[types.NamespacedName]ownWrite[T]
	deleted map[types.NamespacedName]types.UID
}

// ownWrite is an object as this process stored it, and when.
type ownWrite[T any] struct {
	object T
	at     time.Time
}

// maxPending bounds how long a write counts that the cache does not show: an object that was created and deleted while a watch was broken
// is never shown. The object is then created again.
const maxPending = 2 * time.Minute

// Stored records an object as the API server returned it from a write. It must not be changed any more.
func (m *Memory[T]) Stored(object T, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stored == nil {
		m.stored = map[types.NamespacedName]ownWrite[T]{}
	}
	m.stored[keyOf(object)] = ownWrite[T]{object, now}
}

// Deleted records that an object was deleted. It may stay for its finalizers; the cache shows that later.
func (m *Memory[T]) Deleted(object types.NamespacedName, uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.deleted == nil {
		m.deleted = map[types.NamespacedName]types.UID{}
	}
	m.deleted[object] = uid
	delete(m.stored, object)
}

// Overlay returns the objects of a cache as they are most probably stored. It drops the writes that the cache shows.
func (m *Memory[T]) Overlay(cached []T, now time.Time) []T {
	m.mu.Lock()
	defer m.mu.Unlock()
	var none T
	out := make([]T, 0, len(cached)+len(m.stored))
	pending, gone := maps.Clone(m.stored), maps.Clone(m.deleted)
	for _, object := range cached {
		key := keyOf(object)
		delete(gone, key)
		switch written := m.stored[key].object; {
		case m.deleted[key] == object.GetUID() && object.GetDeletionTimestamp().IsZero():
			object = object.DeepCopy()
			created := object.GetCreationTimestamp()
			object.SetDeletionTimestamp(&created) // only whether it is set counts
		case m.deleted[key] != "":
			delete(m.deleted, key) // the cache shows the deletion, or a later object of that name
		case written == none:
		case newer(written, object):
			object = written
		default:
			delete(m.stored, key)
		}
		delete(pending, key)
		out = append(out, object)
	}
	for key := range gone {
		delete(m.deleted, key) // the cache shows that it is gone
	}
	for key, written := range pending {
		if now.Sub(written.at) > maxPending {
			delete(m.stored, key)
			continue
		}
		out = append(out, written.object)
	}
	slices.SortFunc(out, func(a, b T) int {
		return cmp.Or(strings.Compare(a.GetNamespace(), b.GetNamespace()), strings.Compare(a.GetName(), b.GetName()))
	})
	return out
}

// Drop removes the writes of an object with a uid, which the cache no longer has.
func (m *Memory[T]) Drop(object types.NamespacedName, uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if written, has := m.stored[object]; has && written.object.GetUID() == uid {
		delete(m.stored, object)
	}
	if m.deleted[object] == uid {
		delete(m.deleted, object)
	}
}

// Len returns how many writes the cache does not show yet.
func (m *Memory[T]) Len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.stored) + len(m.deleted)
}

func keyOf(object metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}
}

// newer reports whether a is a later version than b.
func newer(a, b metav1.Object) bool {
	order, err := resourceversion.CompareResourceVersion(a.GetResourceVersion(), b.GetResourceVersion())
	return err == nil && order > 0
}
