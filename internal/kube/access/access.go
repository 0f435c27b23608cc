// Package access owns an index of the ClusterRoles and ClusterRoleBindings of a hub. It returns the names of all objects on
// which a subject has a cluster-wide permission. An access review of the API server is about one object only.
//
// It grants nothing and ignores RoleBindings, since the owner of a namespace can write them. It never returns more than RBAC
// allows.
package access

import (
	"slices"
	"strings"
	"sync"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

// Subject is a user with its groups.
type Subject struct {
	User   string
	Groups []string
}

// ServiceAccount returns the subject of a service account.
func ServiceAccount(namespace, name string) Subject {
	return Subject{
		User:   serviceAccountUser(namespace, name),
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"},
	}
}

func serviceAccountUser(namespace, name string) string {
	return "system:serviceaccount:" + namespace + ":" + name
}

// Permission is a verb on a resource, "resource" or "resource/subresource", of an API group.
type Permission struct {
	Verb, Group, Resource string
}

// NameSet is a set of object names: some names, or all names including future ones.
type NameSet struct {
	All   bool
	Names sets.Set[string]
}

// Has returns whether a name is in the set.
func (n NameSet) Has(name string) bool { return n.All || n.Names.Has(name) }

// Index holds the ClusterRoles and ClusterRoleBindings of a hub. Its methods may be called from any goroutine.
type Index struct {
	mu          sync.RWMutex
	rulesByRole map[string][]rbacv1.PolicyRule
	// bindings are the bindings by name, bySubject the names of the bindings that name a subject.
	bindings  map[string]*rbacv1.ClusterRoleBinding
	bySubject map[string]sets.Set[string]
}

// NewIndex returns an empty index.
func NewIndex() *Index {
	return &Index{
		rulesByRole: map[string][]rbacv1.PolicyRule{}, bindings: map[string]*rbacv1.ClusterRoleBinding{},
		bySubject: map[string]sets.Set[string]{},
	}
}

// SetRole records a ClusterRole. An aggregated role contains the rules of the others.
func (x *Index) SetRole(role *rbacv1.ClusterRole) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.rulesByRole[role.Name] = role.Rules
}

// DeleteRole removes a ClusterRole. Bindings to it grant nothing.
func (x *Index) DeleteRole(name string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.rulesByRole, name)
}

// SetBinding records a ClusterRoleBinding.
func (x *Index) SetBinding(binding *rbacv1.ClusterRoleBinding) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.unbind(binding.Name)
	x.bindings[binding.Name] = binding
	for _, subject := range binding.Subjects {
		key := subjectKey(subject)
		if x.bySubject[key] == nil {
			x.bySubject[key] = sets.New[string]()
		}
		x.bySubject[key].Insert(binding.Name)
	}
}

// DeleteBinding removes a ClusterRoleBinding.
func (x *Index) DeleteBinding(name string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.unbind(name)
}

func (x *Index) unbind(name string) {
	binding, known := x.bindings[name]
	if !known {
		return
	}
	delete(x.bindings, name)
	for _, subject := range binding.Subjects {
		key := subjectKey(subject)
		x.bySubject[key].Delete(name)
		if x.bySubject[key].Len() == 0 {
			delete(x.bySubject, key)
		}
	}
}

// AllowedNames returns the names of the objects on which a subject has a permission.
func (x *Index) AllowedNames(who Subject, right Permission) NameSet {
	x.mu.RLock()
	defer x.mu.RUnlock()
	out := NameSet{Names: sets.New[string]()}
	for _, key := range who.keys() {
		for name := range x.bySubject[key] {
			for _, rule := range x.rulesByRole[x.bindings[name].RoleRef.Name] {
				if !right.grantedBy(rule) {
					continue
				}
				if len(rule.ResourceNames) == 0 {
					return NameSet{All: true}
				}
				out.Names.Insert(rule.ResourceNames...)
			}
		}
	}
	return out
}

// grantedBy returns whether a rule grants the permission on some object.
func (r Permission) grantedBy(rule rbacv1.PolicyRule) bool {
	return contains(rule.Verbs, r.Verb) && contains(rule.APIGroups, r.Group) && r.matchesResource(rule.Resources)
}

// matchesResource follows RBAC: "*" is every resource, "*/sub" is that subresource of each.
func (r Permission) matchesResource(resources []string) bool {
	_, subresource, nested := strings.Cut(r.Resource, "/")
	return contains(resources, r.Resource) || nested && slices.Contains(resources, "*/"+subresource)
}

func contains(list []string, what string) bool {
	return slices.Contains(list, what) || slices.Contains(list, rbacv1.ResourceAll)
}

// keys returns the index keys of the user and its groups.
func (s Subject) keys() []string {
	out := []string{userKey(s.User)}
	for _, group := range s.Groups {
		out = append(out, groupKey(group))
	}
	return out
}

func subjectKey(subject rbacv1.Subject) string {
	switch subject.Kind {
	case rbacv1.GroupKind:
		return groupKey(subject.Name)
	case rbacv1.ServiceAccountKind:
		return userKey(serviceAccountUser(subject.Namespace, subject.Name))
	default:
		return userKey(subject.Name)
	}
}

func userKey(name string) string  { return "user " + name }
func groupKey(name string) string { return "group " + name }
