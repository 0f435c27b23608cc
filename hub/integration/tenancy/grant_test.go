package tenancy

import (
	"context"
	"fmt"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

const bindVerb = "create managedclustersets/bind "

// TestGrantsBind: a namespace is bound to a set as long as its account `placement` may bind the set. The order of creation does not
// matter.
func TestGrantsBind(t *testing.T) {
	steady.Require(t)
	h := admin(t)
	for sentence, test := range map[string]struct {
		grant func(namespace, set string) client.Object
	}{
		"to the account": {func(ns, set string) client.Object { return h.grant(h.newRole(bindVerb+set), placementAccount(ns)) }},
		"to the account as a user": {func(ns, set string) client.Object {
			return h.grant(h.newRole(bindVerb+set), kit.User("system:serviceaccount:"+ns+":placement"))
		}},
		"to the accounts of the namespace": {func(ns, set string) client.Object {
			return h.grant(h.newRole(bindVerb+set), kit.Group("system:serviceaccounts:"+ns))
		}},
		"to all accounts": {func(_, set string) client.Object {
			return h.grant(h.newRole(bindVerb+set), kit.Group("system:serviceaccounts"))
		}},
		"by any verb on any subresource": {func(ns, set string) client.Object {
			return h.grant(h.newRole("* */bind "+set), placementAccount(ns))
		}},
		"by an aggregated role": {func(ns, set string) client.Object {
			label := map[string]string{"test.berth.dev/aggregate": set}
			h.role(label, bindVerb+set)
			aggregated := &rbacv1.ClusterRole{
				ObjectMeta:      metav1.ObjectMeta{Name: unique("test-aggregated")},
				AggregationRule: &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{{MatchLabels: label}}},
			}
			h.MustCreateTemporary(aggregated)
			return h.grant(aggregated.Name, placementAccount(ns))
		}},
		"by the binder role of the set": {func(ns, set string) client.Object {
			return h.grant("berth:managedclusterset:binder:"+set, placementAccount(ns))
		}},
	} {
		t.Run(sentence, func(t *testing.T) {
			h.t = t
			namespace, set, other := h.namespace(), unique("granted"), unique("not-granted")
			h.exclusive(set)
			h.exclusive(other)
			grant := test.grant(namespace, set)
			h.awaitBindings(namespace) // the account is missing
			account := h.serviceAccount(namespace, "placement")
			h.awaitBindings(namespace, set+"*")
			h.MustDelete(binding(namespace, set)) // Berth owns the binding and restores it
			h.awaitBindings(namespace, set+"*")
			h.MustDelete(account)
			h.awaitBindings(namespace)
			h.serviceAccount(namespace, "placement")
			h.awaitBindings(namespace, set+"*")
			h.MustDelete(grant)
			h.awaitBindings(namespace)
		})
	}
}

func TestAGrantReachesAPlacement(t *testing.T) {
	steady.Require(t)
	h, set := admin(t), unique("reached")
	namespace := h.namespace()
	h.exclusive(set)
	h.member(set+"-a", set)
	h.serviceAccount(namespace, "placement")
	h.grant(h.newRole(bindVerb+set), placementAccount(namespace))
	placement := kit.Placement(namespace, "web")
	h.MustCreateTemporary(placement)
	h.AwaitCount(placement.Namespace, placement.Name, 1)
	granted := binding(namespace, set)
	h.awaitCondition(granted, isBound, "True ClusterSetBound: ")
}

// TestAGrantOfAllSets includes later sets. A binding of a deleted set stays.
func TestAGrantOfAllSets(t *testing.T) {
	steady.Require(t)
	h, name := admin(t), unique("every")
	namespace := h.namespace()
	h.serviceAccount(namespace, "placement")
	grant := h.grant(h.newRole(bindVerb), placementAccount(namespace))
	h.awaitGrantedBindings(namespace, "default", "global")
	set := h.exclusive(name)
	h.awaitGrantedBindings(namespace, name)
	h.MustDelete(set)
	granted := binding(namespace, name)
	h.awaitCondition(granted, isBound, "False ClusterSetNotFound: ") // the binding stays after its set is deleted
	h.MustDelete(grant)
	h.awaitBindings(namespace)
}

// awaitGrantedBindings waits until a namespace has some bindings of a grant. It may have other bindings too.
func (h hubUser) awaitGrantedBindings(namespace string, sets ...string) {
	h.t.Helper()
	for _, set := range sets {
		granted := binding(namespace, set)
		h.AwaitObject(granted, "the binding is that of the grant", func() error {
			if granted.Labels[clusterv1beta2.MadeByLabel] != "grant" {
				return fmt.Errorf("binding %s belongs to a user", set)
			}
			return nil
		})
	}
}

// TestNoGrant: each case is created before a valid grant of another set. The effect of the valid grant shows that the manager has read
// the case.
func TestNoGrant(t *testing.T) {
	steady.Require(t)
	h := admin(t)
	for sentence, give := range map[string]func(namespace, set string){
		"a RoleBinding": func(ns, set string) { h.grantIn(ns, h.newRole(bindVerb+set), placementAccount(ns)) },
		"a RoleBinding of everything": func(ns, _ string) {
			h.grantIn(ns, "cluster-admin", placementAccount(ns))
		},
		"a RoleBinding to a Role": func(ns, set string) {
			h.MustCreateTemporary(&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "bind"}, Rules: []rbacv1.PolicyRule{{
				Verbs: []string{"create"}, APIGroups: []string{clusterv1beta2.GroupVersion.Group},
				Resources: []string{"managedclustersets/bind"}, ResourceNames: []string{set},
			}}})
			h.MustCreateTemporary(kit.RoleBinding(ns, "bind", kit.Role("bind"), placementAccount(ns)))
		},
		"a literal star":  func(ns, _ string) { h.grant(h.newRole(bindVerb+"*"), placementAccount(ns)) },
		"a right to join": func(ns, set string) { h.grant(h.newRole("create managedclustersets/join "+set), placementAccount(ns)) },
		"a right to read": func(ns, set string) {
			h.grant(h.newRole("get managedclustersets,managedclustersets/bind "+set), placementAccount(ns))
		},
		"a right on the set itself": func(ns, set string) {
			h.grant(h.newRole("create,update managedclustersets "+set), placementAccount(ns))
		},
		"a right of another account": func(ns, set string) {
			h.grant(h.newRole(bindVerb+set), kit.ServiceAccount(ns, "default"))
		},
		"a right of another namespace": func(_, set string) { h.grant(h.newRole(bindVerb+set), placementAccount("kube-system")) },
		"a right of another namespace's group": func(_, set string) {
			h.grant(h.newRole(bindVerb+set), kit.Group("system:serviceaccounts:kube-system"))
		},
		"a user with the name of the account": func(_, set string) { h.grant(h.newRole(bindVerb+set), kit.User("placement")) },
		"a binding to a role that is missing": func(ns, _ string) { h.grant(unique("missing"), placementAccount(ns)) },
	} {
		t.Run(sentence, func(t *testing.T) {
			h.t = t
			namespace, set, sentinel := h.namespace(), unique("refused"), unique("sentinel")
			h.exclusive(set)
			h.exclusive(sentinel)
			h.serviceAccount(namespace, "placement")
			give(namespace, set)
			h.grant(h.newRole(bindVerb+sentinel), placementAccount(namespace))
			h.awaitBindings(namespace, sentinel+"*")
		})
	}
}

func TestUserBindingIsKept(t *testing.T) {
	steady.Require(t)
	h, set, other := admin(t), unique("own"), unique("own")
	namespace := h.namespace()
	h.exclusive(set)
	h.exclusive(other)
	own := binding(namespace, set)
	h.MustCreateTemporary(own)
	h.serviceAccount(namespace, "placement")
	grant := h.grant(h.newRole(bindVerb+set+" "+other), placementAccount(namespace))
	h.awaitBindings(namespace, set, other+"*")
	uid := own.UID
	h.MustDelete(grant)
	h.awaitBindings(namespace, set)
	if err := h.Get(t.Context(), client.ObjectKeyFromObject(own), own); err != nil || own.UID != uid {
		t.Errorf("the user's binding was replaced: %v", err)
	}
}

// TestGrantsThatChangeWithoutAManager checks that a manager applies such grants after its start. It removes no binding before
// its caches are complete.
func TestGrantsThatChangeWithoutAManager(t *testing.T) {
	steady.Require(t)
	h, stays, goes, comes := admin(t), unique("stays"), unique("goes"), unique("comes")
	namespace := h.namespace()
	for _, set := range []string{stays, goes, comes} {
		h.exclusive(set)
	}
	h.serviceAccount(namespace, "placement")
	h.grant(h.newRole(bindVerb+stays), placementAccount(namespace))
	leaving := h.grant(h.newRole(bindVerb+goes), placementAccount(namespace))
	h.awaitBindings(namespace, stays+"*", goes+"*")
	kept := binding(namespace, stays)
	h.MustRead(kept)
	was := kept.UID
	steady.Stop(t)
	h.MustDelete(leaving)
	h.grant(h.newRole(bindVerb+comes), placementAccount(namespace))
	steady.Require(t)
	h.awaitBindings(namespace, stays+"*", comes+"*")
	if err := h.Get(t.Context(), client.ObjectKeyFromObject(kept), kept); err != nil || kept.UID != was {
		t.Errorf("the binding was deleted and created again: %v", err)
	}
}

// TestNamespacesThatComeAndGo checks that an account as old as its namespace counts at once. A namespace that is deleted with
// its account and grant causes no error in the log of the manager.
func TestNamespacesThatComeAndGo(t *testing.T) {
	steady.Require(t)
	h, set := admin(t), unique("swift")
	h.exclusive(set)
	h.grant(h.newRole(bindVerb+set), kit.Group("system:serviceaccounts"))
	var namespaces []string
	for range 20 {
		namespace := h.namespace()
		h.serviceAccount(namespace, "placement")
		namespaces = append(namespaces, namespace)
	}
	for _, namespace := range namespaces {
		h.awaitBindings(namespace, set+"*")
	}
	core := shared.Client(t).CoreV1().Namespaces()
	for _, namespace := range namespaces {
		kit.NoError(t, core.Delete(t.Context(), namespace, metav1.DeleteOptions{}))
	}
	kit.Await(t, "no binding of the set is left", func(ctx context.Context) error {
		left := &clusterv1beta2.ManagedClusterSetBindingList{}
		if err := h.List(ctx, left, client.MatchingFields{"metadata.name": set}); err != nil || len(left.Items) > 0 {
			return fmt.Errorf("%d bindings are left: %w", len(left.Items), err)
		}
		return nil
	})
}
