package visibility

import (
	"github.com/tidwall/btree"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/berth-project/berth/engine/fleet"
)

// Kind is the kind of an object.
type Kind uint8

const (
	// Cluster is a ManagedCluster.
	Cluster Kind = iota
	// Set is a ManagedClusterSet.
	Set

	kinds
)

// Object is a ManagedCluster or a ManagedClusterSet. Objects in a snapshot are read-only.
type Object interface {
	runtime.Object
	metav1.Object
}

// Entry is an object and the revision of its last change.
type Entry struct {
	Object   Object
	Revision uint64
}

// Snapshot is the state of one instant that decides which objects a subject may see. It is immutable and safe for concurrent use.
type Snapshot struct {
	objects [kinds]btree.Map[string, Entry]
	// fleet maps sets to their clusters.
	fleet *fleet.Snapshot
	rbac  *rbacSnapshot
}

// Empty returns a snapshot without objects.
func Empty() *Snapshot {
	return &Snapshot{fleet: fleet.Empty(), rbac: &rbacSnapshot{}}
}

// Object returns an object by name, for code that compares snapshots. It must not be shown to a subject.
func (s *Snapshot) Object(kind Kind, name string) (entry Entry, ok bool) {
	return s.objects[kind].Get(name)
}
