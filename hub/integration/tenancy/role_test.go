package tenancy

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

func setRole(level, set string) *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "berth:managedclusterset:" + level + ":" + set}}
}

// awaitExists waits until an object exists.
func (h hubUser) awaitExists(object client.Object) {
	h.t.Helper()
	h.AwaitObject(object, "it exists", func() error { return nil })
}

func TestRolesComeAndGoWithTheirSet(t *testing.T) {
	steady.Require(t)
	h, name := admin(t), unique("roles")
	set := h.exclusive(name)
	levels := []string{"admin", "binder", "viewer"}
	for _, level := range levels {
		h.awaitExists(setRole(level, name))
	}
	h.MustDelete(set)
	for _, level := range levels {
		h.AwaitGone(setRole(level, name))
	}
	again := h.exclusive(name) // a new set with the same name, while the old roles are being deleted
	for _, level := range levels {
		role := setRole(level, name)
		h.AwaitObject(role, "the new set owns the role", func() error {
			if owner := metav1.GetControllerOf(role); owner == nil || owner.UID != again.UID {
				return fmt.Errorf("the role is owned by %v", owner)
			}
			return nil
		})
	}
}

// TestReplacedSetGetsItsOwnRoles: a new set with the same name gets its own roles, while the roles of the old set still exist.
func TestReplacedSetGetsItsOwnRoles(t *testing.T) {
	steady.Require(t)
	h, name := admin(t), unique("swap")
	set := h.exclusive(name)
	h.awaitExists(setRole("admin", name))
	h.MustDelete(set)
	again := h.exclusive(name)
	role := setRole("admin", name)
	h.AwaitObject(role, "the new set owns the role", func() error {
		if owner := metav1.GetControllerOf(role); owner == nil || owner.UID != again.UID {
			return fmt.Errorf("the role is owned by %v", owner)
		}
		return nil
	})
}

func TestRolesAreKept(t *testing.T) {
	steady.Require(t)
	h, name := admin(t), unique("kept")
	h.exclusive(name)
	role := setRole("viewer", name)
	h.awaitExists(role)
	want := role.Rules
	h.MustMerge(role, `{"metadata":{"labels":{"test.berth.dev/mine":"yes"}},"rules":[{"apiGroups":["*"],"resources":["*"],"verbs":["*"]}]}`)
	h.AwaitObject(role, "the rules of the role are restored", func() error {
		if diff := cmp.Diff(want, role.Rules); diff != "" {
			return fmt.Errorf("rules (-want +got):\n%s", diff)
		}
		return nil
	})
	if role.Labels["test.berth.dev/mine"] != "yes" {
		t.Error("a label for aggregation is lost")
	}
	h.MustDelete(role)
	h.awaitExists(setRole("viewer", name))
}

func TestASetWithTheLongestNameHasRoles(t *testing.T) {
	steady.Require(t)
	h := admin(t)
	name := strings.Repeat("a", 253-len("-1234")) + unique("")
	set := h.exclusive(name)
	kit.Await(t, "the set has its three roles", func(ctx context.Context) error {
		list, found := &rbacv1.ClusterRoleList{}, 0
		if err := h.List(ctx, list, client.HasLabels{"berth-project.io/clusterset-role"}); err != nil {
			return err
		}
		for i := range list.Items {
			if owner := metav1.GetControllerOf(&list.Items[i]); owner != nil && owner.UID == set.UID {
				found++
			}
		}
		if found != 3 {
			return fmt.Errorf("%d roles", found)
		}
		return nil
	})
}

// TestWhatSetRolesAllow checks the important permissions of each role of a set with the API server.
func TestWhatSetRolesAllow(t *testing.T) {
	steady.Require(t)
	h, name := admin(t), unique("allowed")
	h.exclusive(name)
	label := clusterv1beta2.ClusterSetLabel + ":"
	matrix := map[string]string{ // "verb resource name" to the initials of the allowed roles
		"get managedclustersets " + name:                                        "abv",
		"get managedclustersets other":                                          "",
		"list managedclustersets ":                                              "",
		"create managedclustersets ":                                            "",
		"update managedclustersets " + name:                                     "",
		"patch managedclustersets " + name:                                      "",
		"delete managedclustersets " + name:                                     "",
		"patch managedclustersets/status " + name:                               "",
		"create managedclustersets/bind " + name:                                "ab",
		"create managedclustersets/bind other":                                  "",
		"create managedclustersets/bind ":                                       "",
		"create managedclustersets/join " + name:                                "a",
		"create managedclustersets/join other":                                  "",
		"create managedclusters/label " + label + name:                          "a",
		"create managedclusters/label " + label + "other":                       "",
		"create managedclusters/label " + label + "*":                           "",
		"create managedclusters/label *":                                        "",
		"update managedclusters/taint ":                                         "",
		"create managedclusters ":                                               "",
		"update managedclusters any":                                            "",
		"create managedclustersetbindings ":                                     "",
		"create placements ":                                                    "",
		"create placementdecisions ":                                            "",
		"update placementdecisions/status any":                                  "",
		"create clusterroles.rbac.authorization.k8s.io ":                        "",
		"update managedclusters.register.open-cluster-management.io/accept any": "",
		"impersonate serviceaccounts. any":                                      "",
		"escalate clusterroles.rbac.authorization.k8s.io any":                   "",
		"create managedclusters/label " + label + name + "-two":                 "",
	}
	for _, level := range []string{"admin", "binder", "viewer"} {
		caller := level + "-of-" + name
		h.awaitExists(setRole(level, name))
		h.grant(setRole(level, name).Name, kit.User(caller))
		h.awaitAccess(caller, "get", "managedclustersets", name, true)
		for question, allowed := range matrix {
			verb, rest, _ := strings.Cut(question, " ")
			resource, object, _ := strings.Cut(rest, " ")
			h.awaitAccess(caller, verb, resource, object, strings.Contains(allowed, level[:1]))
		}
	}
}

// awaitAccess checks the permission of a user on an object, in any namespace, until the result is as wanted. Roles take effect
// with a delay.
func (h hubUser) awaitAccess(caller, verb, resource, name string, want bool) {
	h.t.Helper()
	attributes := &authorizationv1.ResourceAttributes{Verb: verb, Group: clusterv1.GroupVersion.Group, Name: name}
	attributes.Resource, attributes.Subresource, _ = strings.Cut(resource, "/")
	if plain, group, other := strings.Cut(attributes.Resource, "."); other {
		attributes.Resource, attributes.Group = plain, group
	}
	h.Await("the roles of the caller are in effect", func(ctx context.Context) error {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User:               caller,
			ResourceAttributes: attributes,
		}}
		if err := h.Create(ctx, review); err != nil {
			return err
		}
		if review.Status.Allowed != want {
			return fmt.Errorf("%s may %s %s %s: %t, want %t", caller, verb, resource, name, review.Status.Allowed, want)
		}
		return nil
	})
}

// TestNamespaceUserPermissions tests users with Kubernetes' roles admin, edit and view in a namespace.
func TestNamespaceUserPermissions(t *testing.T) {
	steady.Require(t)
	h, name := admin(t), unique("people")
	namespace, elsewhere, foreign := h.namespace(), h.namespace(), unique("foreign")
	h.exclusive(name)
	h.exclusive(foreign)
	h.awaitExists(setRole("binder", name))
	for _, role := range []string{"admin", "edit", "view"} {
		caller := role + "-" + name
		h.grantIn(namespace, role, kit.User(caller))
		h.awaitReadAccess(caller, namespace)
		h.grant(setRole("binder", name).Name, kit.User(caller))
		h.awaitAccess(caller, "create", "managedclustersets/bind", name, true)
		user, writes := user(t, caller), "ok"
		if role == "view" {
			writes = "403"
		}
		placement := func(namespace string) client.Object {
			return kit.Placement(namespace, caller)
		}
		decision := &clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: caller}}
		widened := kit.Set(name)
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"a":"b"}}}`))
		for _, step := range []struct {
			what string
			do   func(context.Context) error
			want string
		}{
			{"reads decisions", func(ctx context.Context) error {
				return user.List(ctx, &clusterv1beta1.PlacementDecisionList{}, client.InNamespace(namespace))
			}, "ok"},
			{"reads placements in another namespace", func(ctx context.Context) error {
				return user.List(ctx, &clusterv1beta1.PlacementList{}, client.InNamespace(elsewhere))
			}, "403"},
			{"creates a placement", func(ctx context.Context) error { return user.Create(ctx, placement(namespace)) }, writes},
			{"changes a placement", func(ctx context.Context) error { return user.Patch(ctx, placement(namespace), patch) }, writes},
			{"creates a placement in another namespace", func(ctx context.Context) error { return user.Create(ctx, placement(elsewhere)) }, "403"},
			{"creates a binding", func(ctx context.Context) error { return user.Create(ctx, binding(namespace, name)) }, writes},
			{"binds a set without the permission", func(ctx context.Context) error { return user.Create(ctx, binding(namespace, foreign)) }, "403"},
			{"changes a binding", func(ctx context.Context) error { return user.Patch(ctx, binding(namespace, name), patch) }, "403"},
			{"removes a binding", func(ctx context.Context) error { return user.Delete(ctx, binding(namespace, name)) }, writes},
			{"removes a placement", func(ctx context.Context) error { return user.Delete(ctx, placement(namespace)) }, writes},
			{"writes a decision", func(ctx context.Context) error { return user.Create(ctx, decision.DeepCopy()) }, "403"},
			{"patches a decision's status", func(ctx context.Context) error { return user.Status().Patch(ctx, decision.DeepCopy(), patch) }, "403"},
			{"removes a decision", func(ctx context.Context) error { return user.Delete(ctx, decision.DeepCopy()) }, "403"},
			{"writes a placement's status", func(ctx context.Context) error { return user.Status().Patch(ctx, placement(namespace), patch) }, "403"},
			{"lists sets", func(ctx context.Context) error { return user.List(ctx, &clusterv1beta2.ManagedClusterSetList{}) }, "403"},
			{"lists clusters", func(ctx context.Context) error { return user.List(ctx, &clusterv1.ManagedClusterList{}) }, "403"},
			{"widens a set", func(ctx context.Context) error { return user.Patch(ctx, widened, patch) }, "403"},
			{"creates a set", func(ctx context.Context) error { return user.Create(ctx, kit.Set(unique("theirs"))) }, "403"},
		} {
			if got := statusText(step.do(t.Context())); got != step.want {
				t.Errorf("a user with role %s %s: %s, want %s", role, step.what, got, step.want)
			}
		}
	}
}

// awaitReadAccess waits until a user may read the placements of a namespace.
func (h hubUser) awaitReadAccess(caller, namespace string) {
	h.t.Helper()
	reader := user(h.t, caller)
	h.Await("a user may read the placements of a namespace", func(ctx context.Context) error {
		return reader.List(ctx, &clusterv1beta1.PlacementList{}, client.InNamespace(namespace))
	})
}
