// Package access owns the question "for which objects may this subject do that, anywhere in the cluster", answered
// from the ClusterRoles and ClusterRoleBindings of the hub by the rules of RBAC, for all objects at once. The API
// server's own answer, an access review, is one object at a time.
//
// It refuses to grant anything, and to look at RoleBindings: what a namespace's owner can write must not reach beyond
// the namespace. What it says is never more than what RBAC allows.
package access

import (
	"slices"
	"strings"
	"sync"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

// Subject is who asks: a user and the groups that the user is in.
type Subject struct {
	User   string
	Groups []string
}

// ServiceAccount returns the subject that a service account is.
func ServiceAccount(namespace, name string) Subject {
	return Subject{
		User:   serviceAccountUser(namespace, name),
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"},
	}
}

func serviceAccountUser(namespace, name string) string {
	return "system:serviceaccount:" + namespace + ":" + name
}

// Permission is what is asked for: a verb on a resource, "resource" or "resource/subresource", of an API group.
type Permission struct {
	Verb, Group, Resource string
}

// NameSet is a set of object names: some, or every one, those to come included.
type NameSet struct {
	All   bool
	Names sets.Set[string]
}

// Has says whether a name is in the set.
func (n NameSet) Has(name string) bool { return n.All || n.Names.Has(name) }

// Index knows the ClusterRoles and ClusterRoleBindings of a hub. Its methods may be called from any goroutine.
type Index struct {
	mu          sync.RWMutex
	rulesByRole map[string][]rbacv1.PolicyRule
	// bindings holds the bindings by name, bySubject the names of the bindings that name a subject.
	bindings  map[string]*rbacv1.ClusterRoleBinding
	bySubject map[string]sets.Set[string]
}

// NewIndex returns an index of no roles.
func NewIndex() *Index {
	return &Index{
		rulesByRole: map[string][]rbacv1.PolicyRule{}, bindings: map[string]*rbacv1.ClusterRoleBinding{},
		bySubject: map[string]sets.Set[string]{},
	}
}

// SetRole records a ClusterRole. One that aggregates others holds their rules itself.
func (x *Index) SetRole(role *rbacv1.ClusterRole) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.rulesByRole[role.Name] = role.Rules
}

// DeleteRole forgets a ClusterRole. Bindings to it grant nothing.
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

// DeleteBinding forgets a ClusterRoleBinding.
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

// AllowedNames returns the names of the objects on which a subject has a right.
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

// grantedBy says whether a rule is about the right, names of objects aside.
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

// keys returns the subjects under which bindings may name who asks.
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
