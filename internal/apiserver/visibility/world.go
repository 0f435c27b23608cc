package visibility

import (
	"github.com/tidwall/btree"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/berth-project/berth/engine/fleet"
)

// Kind says what kind of object is looked at.
type Kind uint8

const (
	// Cluster is a ManagedCluster.
	Cluster Kind = iota
	// Set is a ManagedClusterSet.
	Set

	kinds
)

// Object is a ManagedCluster or a ManagedClusterSet. Those in a World are read-only.
type Object interface {
	runtime.Object
	metav1.Object
}

// Entry is an object, and the revision at which it came to be as it is.
type Entry struct {
	Object   Object
	Revision uint64
}

// Snapshot is all that decides what anybody sees, at one instant. It is immutable and safe for any number of readers.
type Snapshot struct {
	objects [kinds]btree.Map[string, Entry]
	// fleet knows which clusters are in which set.
	fleet *fleet.Snapshot
	rbac  *rbacSnapshot
}

// Empty returns a world with nothing in it.
func Empty() *Snapshot {
	return &Snapshot{fleet: fleet.Empty(), rbac: &rbacSnapshot{}}
}
