package sight

import (
	"maps"
	"slices"
	"sync"

	"github.com/tidwall/btree"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/user"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/access"
)

// law is the roles and bindings of one instant. They never change; the index over them is made when it is first needed,
// and kept only until the law is superseded, since a hub may change its roles often.
type law struct {
	roles    btree.Map[string, *rbacv1.ClusterRole]
	bindings btree.Map[string, *rbacv1.ClusterRoleBinding]

	mu         sync.Mutex
	index      *access.Index
	superseded bool
}

// amended returns a copy that may be changed.
func (l *law) amended() *law {
	return &law{roles: *clone(l.roles), bindings: *clone(l.bindings)}
}

func (l *law) supersede() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.superseded, l.index = true, nil
}

func (l *law) indexed() *access.Index {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.index != nil {
		return l.index
	}
	index := access.NewIndex()
	l.roles.Scan(func(_ string, role *rbacv1.ClusterRole) bool {
		index.SetRole(role)
		return true
	})
	l.bindings.Scan(func(_ string, binding *rbacv1.ClusterRoleBinding) bool {
		index.SetBinding(binding)
		return true
	})
	if !l.superseded {
		l.index = index
	}
	return index
}

// Rights is what a subject may see by its roles alone, whether it exists or not.
type Rights struct {
	// Sets it may get or bind.
	Sets access.Names
	// Clusters it may get.
	Clusters access.Names
}

// Rights returns the rights of a subject at the instant of the world. Kubernetes' administrators need no role.
func (w *World) Rights(who access.Subject) Rights {
	if slices.Contains(who.Groups, user.SystemPrivilegedGroup) {
		return Rights{Sets: access.Names{All: true}, Clusters: access.Names{All: true}}
	}
	index := w.law.indexed()
	right := func(verb, resource string) access.Names {
		return index.Names(who, access.Right{Verb: verb, Group: clusterv1.GroupName, Resource: resource})
	}
	return Rights{
		Sets:     union(right("get", "managedclustersets"), right("create", "managedclustersets/bind")),
		Clusters: right("get", "managedclusters"),
	}
}

func union(a, b access.Names) access.Names {
	if a.All || b.All {
		return access.Names{All: true}
	}
	return access.Names{Names: a.Names.Union(b.Names)}
}

// Equal says whether two rights are the same.
func (r Rights) Equal(other Rights) bool {
	return equal(r.Sets, other.Sets) && equal(r.Clusters, other.Clusters)
}

func equal(a, b access.Names) bool {
	return a.All == b.All && maps.Equal(a.Names, b.Names)
}
