// Package object owns what the agent stores about one object of a work: its identity on the member, its manifest, its settings, and its
// rank among the objects of the work.
//
// It sends no request. The invariant: the same manifest with the same settings has the same hash, in whatever order its fields are.
package object

import (
	"cmp"
	"strings"

	workv1 "github.com/berth-project/berth/api/work/v1"
)

// ID identifies an object on the member. The version does not count.
type ID struct {
	// Group is empty for the core group, Namespace for objects of cluster scope.
	Group, Resource, Namespace, Name string
}

// IDOf returns the identity in an entry of a record.
func IDOf(entry workv1.AppliedManifestResourceMeta) ID {
	return ID{Group: entry.Group, Resource: entry.Resource, Namespace: entry.Namespace, Name: entry.Name}
}

// String returns an identity for messages, such as "deployments.apps shop/web".
func (id ID) String() string {
	out := strings.TrimSuffix(id.Resource+"."+id.Group, ".") + " "
	if id.Namespace != "" {
		out += id.Namespace + "/"
	}
	return out + id.Name
}

// Compare orders identities by group, resource, namespace and name.
func (id ID) Compare(other ID) int {
	return cmp.Or(cmp.Compare(id.Group, other.Group), cmp.Compare(id.Resource, other.Resource),
		cmp.Compare(id.Namespace, other.Namespace), cmp.Compare(id.Name, other.Name))
}
