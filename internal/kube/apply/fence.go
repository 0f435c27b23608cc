package apply

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Fenced returns a merge patch from an object as it was read. The API server refuses it with a conflict if the object changed since.
func Fenced(before client.Object) client.Patch {
	return client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
}

// Unchanged lets the API server delete an object only as it was read: the same object, with nothing written since.
func Unchanged(object client.Object) client.Preconditions {
	uid, version := object.GetUID(), object.GetResourceVersion()
	return client.Preconditions(metav1.Preconditions{UID: &uid, ResourceVersion: &version})
}
