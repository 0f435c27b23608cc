package visibility

import (
	"slices"
	"sync"

	"github.com/tidwall/btree"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/user"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/kube/access"
)

// rbacSnapshot is the roles and bindings of one instant. It is immutable. Its index is built at the first use and dropped once the
// roles have changed, since a hub may change its roles often.
type rbacSnapshot struct {
	roles    btree.Map[string, *rbacv1.ClusterRole]
	bindings btree.Map[string, *rbacv1.ClusterRoleBinding]

	mu         sync.Mutex
	index      *access.Index
	superseded bool
}

// mutableCopy returns a copy that may be changed.
func (r *rbacSnapshot) mutableCopy() *rbacSnapshot {
	return &rbacSnapshot{roles: *clone(r.roles), bindings: *clone(r.bindings)}
}

func (r *rbacSnapshot) supersede() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.superseded, r.index = true, nil
}

func (r *rbacSnapshot) accessIndex() *access.Index {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.index != nil {
		return r.index
	}
	index := access.NewIndex()
	r.roles.Scan(func(_ string, role *rbacv1.ClusterRole) bool {
		index.SetRole(role)
		return true
	})
	r.bindings.Scan(func(_ string, binding *rbacv1.ClusterRoleBinding) bool {
		index.SetBinding(binding)
		return true
	})
	if !r.superseded {
		r.index = index
	}
	return index
}

// Permissions are the names that the roles of a subject make visible, whether objects of these names exist or not.
type Permissions struct {
	// Sets it may get or bind.
	Sets access.NameSet
	// Clusters it may get.
	Clusters access.NameSet
}

// Permissions returns the permissions of a subject. Kubernetes' administrators need no role.
func (s *Snapshot) Permissions(subject access.Subject) Permissions {
	if slices.Contains(subject.Groups, user.SystemPrivilegedGroup) {
		return Permissions{Sets: access.NameSet{All: true}, Clusters: access.NameSet{All: true}}
	}
	index := s.rbac.accessIndex()
	right := func(verb, resource string) access.NameSet {
		return index.AllowedNames(subject, access.Permission{Verb: verb, Group: clusterv1.GroupName, Resource: resource})
	}
	return Permissions{
		Sets:     union(right("get", "managedclustersets"), right("create", "managedclustersets/bind")),
		Clusters: right("get", "managedclusters"),
	}
}

func union(a, b access.NameSet) access.NameSet {
	if a.All || b.All {
		return access.NameSet{All: true}
	}
	return access.NameSet{Names: a.Names.Union(b.Names)}
}
