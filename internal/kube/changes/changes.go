// Package changes has the predicates of watches: which updates of an object enqueue what depends on it. Creations and deletions always
// pass.
package changes

import (
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// Of passes the updates of a kind for which changed returns true. An object of another type passes.
func Of[T client.Object](changed func(before, after T) bool) predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(T)
		after, same := e.ObjectNew.(T)
		return !ok || !same || changed(before, after)
	}}
}

// Existence passes no update but that of an object which was replaced by another of its name.
func Existence() predicate.Predicate { return Of(replaced) }

// Spec passes changes of the spec, the start of a deletion, and an object that was replaced by another of its name.
func Spec() predicate.Predicate {
	return Of(func(before, after client.Object) bool {
		return replaced(before, after) || before.GetGeneration() != after.GetGeneration() || Deletion(before, after)
	})
}

// Deletion reports whether the deletion of an object began.
func Deletion(before, after client.Object) bool {
	return before.GetDeletionTimestamp().IsZero() != after.GetDeletionTimestamp().IsZero()
}

func replaced(before, after client.Object) bool { return before.GetUID() != after.GetUID() }
