package pacing

import (
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Own holds the last version of one object that this process stored, until the cache shows it. The zero value holds none. It is safe for
// concurrent use.
type Own[T metav1.Object] struct {
	mu     sync.Mutex
	object T
	held   bool
}

// Stored records an own write.
func (o *Own[T]) Stored(object T) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.object, o.held = object, true
}

// Latest returns the object as it is most probably stored: the cached one, or the last own write where that is a later version.
func (o *Own[T]) Latest(cached T) T {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.held && o.object.GetUID() == cached.GetUID() && newer(o.object, cached) {
		return o.object
	}
	var none T
	o.object, o.held = none, false
	return cached
}
