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
func (i *Index) SetRole(role *rbacv1.ClusterRole) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.rulesByRole[role.Name] = role.Rules
}

// DeleteRole removes a ClusterRole. Bindings to it grant nothing.
func (i *Index) DeleteRole(name string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.rulesByRole, name)
}

// SetBinding records a ClusterRoleBinding.
func (i *Index) SetBinding(binding *rbacv1.ClusterRoleBinding) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.unbind(binding.Name)
	i.bindings[binding.Name] = binding
	for _, subject := range binding.Subjects {
		key := subjectKey(subject)
		if i.bySubject[key] == nil {
			i.bySubject[key] = sets.New[string]()
		}
		i.bySubject[key].Insert(binding.Name)
	}
}

// DeleteBinding removes a ClusterRoleBinding.
func (i *Index) DeleteBinding(name string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.unbind(name)
}

func (i *Index) unbind(name string) {
	binding, known := i.bindings[name]
	if !known {
		return
	}
	delete(i.bindings, name)
	for _, subject := range binding.Subjects {
		key := subjectKey(subject)
		i.bySubject[key].Delete(name)
		if i.bySubject[key].Len() == 0 {
			delete(i.bySubject, key)
		}
	}
}

// AllowedNames returns the names of the objects on which a subject has a permission.
func (i *Index) AllowedNames(who Subject, right Permission) NameSet {
	i.mu.RLock()
	defer i.mu.RUnlock()
	out := NameSet{Names: sets.New[string]()}
	for _, key := range who.keys() {
		for name := range i.bySubject[key] {
			for _, rule := range i.rulesByRole[i.bindings[name].RoleRef.Name] {
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
func (p Permission) grantedBy(rule rbacv1.PolicyRule) bool {
	return contains(rule.Verbs, p.Verb) && contains(rule.APIGroups, p.Group) && p.matchesResource(rule.Resources)
}

// matchesResource follows RBAC: "*" is every resource, "*/sub" is that subresource of each.
func (p Permission) matchesResource(resources []string) bool {
	_, subresource, nested := strings.Cut(p.Resource, "/")
	return contains(resources, p.Resource) || nested && slices.Contains(resources, "*/"+subresource)
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
