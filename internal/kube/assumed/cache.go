package assumed

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Copyable is an object that a Cache holds. T is the type itself.
type Copyable[T any] interface {
	Object
	DeepCopy() T
}

// Cache holds the last writes of this process to objects of one kind until the informer shows them. The zero value is empty. It is safe for
// concurrent use.
type Cache[T Copyable[T]] struct {
	mu     sync.Mutex
	writes map[types.NamespacedName]Write[T]
}

// Set assumes an object that the API server returned from a write. It must not be changed any more.
func (c *Cache[T]) Set(object T, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var none T
	c.update(keyOf(object), func(w *Write[T]) { w.Set(object, none, now) })
}

// Delete assumes that this process deleted an object. The object may stay for its finalizers; the informer shows that later.
func (c *Cache[T]) Delete(key types.NamespacedName, uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.update(key, func(w *Write[T]) { w.Delete(uid) })
}

// ObserveDelete ends what is assumed of the object with a uid, which the informer no longer has.
func (c *Cache[T]) ObserveDelete(key types.NamespacedName, uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.update(key, func(w *Write[T]) { w.ObserveDelete(uid) })
}

// Latest returns an object of the informer as it is most probably stored. The informer counts if it has an object with another uid than the
// written one.
func (c *Cache[T]) Latest(cached T) (latest T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.update(keyOf(cached), func(w *Write[T]) {
		if w.pending && w.object.GetUID() != cached.GetUID() {
			w.Reset()
		}
		latest = observe(w, cached)
	})
	return latest
}

// Overlay returns the objects of the informer as they are most probably stored, by namespace and name. Cached is every object in the
// informer that this process may have written.
func (c *Cache[T]) Overlay(cached []T, now time.Time) []T {
	c.mu.Lock()
	defer c.mu.Unlock()
	var none T
	out, missing := make([]T, 0, len(cached)+len(c.writes)), maps.Clone(c.writes)
	for _, object := range cached {
		if key := keyOf(object); len(c.writes) > 0 {
			delete(missing, key)
			c.update(key, func(w *Write[T]) { object = observe(w, object) })
		}
		out = append(out, object)
	}
	for key := range missing {
		c.update(key, func(w *Write[T]) {
			w.deleted = "" // the informer shows that it is gone
			if w.Expire(none, now); w.pending {
				out = append(out, w.object)
			}
		})
	}
	slices.SortFunc(out, func(a, b T) int {
		return cmp.Or(strings.Compare(a.GetNamespace(), b.GetNamespace()), strings.Compare(a.GetName(), b.GetName()))
	})
	return out
}

// Len returns of how many objects something is assumed.
func (c *Cache[T]) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.writes)
}

// update changes what is assumed of an object. The caller holds the lock.
func (c *Cache[T]) update(key types.NamespacedName, change func(*Write[T])) {
	write := c.writes[key]
	change(&write)
	if !write.pending && write.deleted == "" {
		delete(c.writes, key)
		return
	}
	if c.writes == nil {
		c.writes = map[types.NamespacedName]Write[T]{}
	}
	c.writes[key] = write
}

// observe compares a write with an object of the informer, and returns the object as it is most probably stored. A deleted object counts as
// terminating while the informer has it.
func observe[T Copyable[T]](w *Write[T], cached T) T {
	var none T
	w.Observe(cached)
	if stored := w.Stored(cached); stored != none {
		return stored
	}
	if !cached.GetDeletionTimestamp().IsZero() {
		return cached
	}
	out, created := cached.DeepCopy(), cached.GetCreationTimestamp()
	out.SetDeletionTimestamp(&created) // only whether it is set counts
	return out
}

func keyOf(object metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}
}
