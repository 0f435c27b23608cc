package boundary

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/berth-project/berth/hub/hubtest/kit"
)

// newRoleEditor returns a user who may write all ClusterRoles and their bindings, within the limits of RBAC. The user has the
// role view in the whole hub, and works in a namespace.
func newRoleEditor(t *testing.T, namespace string) user {
	t.Helper()
	out := newUser(t, "keeper")
	bindRole(t, out.subject(), "view")
	bindRoleIn(t, namespace, out.subject(), "edit")
	bindRole(t, out.subject(), role(t, rbacv1.PolicyRule{
		APIGroups: []string{rbacv1.GroupName}, Resources: []string{"clusterroles", "clusterrolebindings"},
		Verbs: []string{"get", "list", "create", "update", "patch", "delete"},
	}))
	out.awaitAllowed(t, "create", bindings(namespace))
	out.awaitAllowed(t, "patch", clusterRoles)
	return out
}

// notHeld is the refusal of RBAC to a grant of permissions that the user lacks.
func notHeld(resource, name string, rules ...string) string {
	out := fmt.Sprintf("%s.rbac.authorization.k8s.io %q is forbidden: user %q (groups=[\"system:authenticated\"]) is attempting to grant "+
		"RBAC permissions not currently held:", resource, name, userPlaceholder)
	for _, rule := range rules {
		out += "\n" + rule
	}
	return out
}

func ruleText(verb, resource, name string) string {
	return fmt.Sprintf("{APIGroups:[%q], Resources:[%q], ResourceNames:[%q], Verbs:[%q]}", group, resource, name, verb)
}

// roleGuarded is the refusal of the policy about the roles of sets.
func roleGuarded(name string) string {
	return byPolicy("berth-set-roles", fmt.Sprintf("clusterroles.rbac.authorization.k8s.io %q", name),
		`the roles of cluster sets are for those who hold what they may grant: this needs the verb "create" on "managedclustersets/bind" `+
			fmt.Sprintf("in the API group %q with every resourceName", group))
}

func clusterRole(name string, rules ...rbacv1.PolicyRule) object {
	return object{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": object{"name": name}, "rules": rules}
}

func TestGrantingBindWithoutHoldingIt(t *testing.T) {
	set, namespace := newSet(t), shared.Namespace(t)
	caller := newRoleEditor(t, namespace)
	own := role(t)
	wanted := ruleFor("create", "managedclustersets/bind", set)
	binder, bindRule := roleOf("binder", set), ruleText("create", "managedclustersets/bind", set)
	grant := func(role string) object {
		return object{
			"metadata": object{"name": "mine"}, "roleRef": reference("ClusterRole", role),
			"subjects": []rbacv1.Subject{caller.subject()},
		}
	}
	const fullAuthority = "clusterroles.rbac.authorization.k8s.io %q is forbidden: must have cluster-admin privileges " +
		"to use the aggregationRule"
	for how, try := range map[string]struct {
		got     apiResponse
		message string
	}{
		"by a role of one's own": {caller.create(t, clusterRoles, clusterRole("mine", wanted)), notHeld("clusterroles", "mine", bindRule)},
		"by a change of one's role": {
			caller.patch(t, clusterRoles+"/"+own, `[{"op":"add","path":"/rules","value":[{"apiGroups":["`+group+
				`"],"resources":["managedclustersets/bind"],"resourceNames":["`+set+`"],"verbs":["create"]}]}]`),
			notHeld("clusterroles", own, bindRule),
		},
		"by a role that aggregates others": {
			caller.create(t, clusterRoles, clusterRole("mine").with(t,
				`{"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"berth-project.io/clusterset-role":"binder"}}]}}`)),
			fmt.Sprintf(fullAuthority, "mine"),
		},
		"by the role of the set": {
			caller.create(t, clusterRoleBindings, grant(binder)),
			notHeld("clusterrolebindings", "mine", ruleText("get", "managedclustersets", set), bindRule),
		},
		"by labelling the role of the set": {
			caller.merge(t, clusterRoles+"/"+binder, `{"metadata":{"labels":{"rbac.authorization.k8s.io/aggregate-to-view":"true"}}}`),
			notHeld("clusterroles", binder, ruleText("get", "managedclustersets", set), bindRule),
		},
	} {
		t.Run(how, func(t *testing.T) { try.got.expect(t, http.StatusForbidden, forUser(caller, try.message)) })
	}
	caller.create(t, bindings(namespace), binding(set)).expect(t, http.StatusForbidden, forUser(caller, mayNotBind(set)))
}

// TestEmptyingTheRoleOfASet tries to store an empty role of a set. RBAC allows it, and allows any user to bind an empty role or
// to aggregate it. Berth would then fill the role.
func TestEmptyingTheRoleOfASet(t *testing.T) {
	set, namespace := newSet(t), shared.Namespace(t)
	caller := newRoleEditor(t, namespace)
	future := roleOf("binder", unique("future"))
	kit.Await(t, "the role of a future set is refused", func(ctx context.Context) error { // a policy takes effect with a delay
		got, err := caller.do(ctx, http.MethodPost, clusterRoles+"?dryRun=All", "application/json", clusterRole(future))
		if err == nil && got.Code != http.StatusForbidden {
			err = fmt.Errorf("%s is allowed", future)
		}
		return err
	})
	for _, level := range levels {
		path := clusterRoles + "/" + roleOf(level, set)
		for how, got := range map[string]apiResponse{
			"by patch":             caller.merge(t, path, `{"rules":[]}`),
			"by update":            caller.rewrite(t, path, `{"rules":[]}`),
			"by removing its rule": caller.patch(t, path, `[{"op":"remove","path":"/rules"}]`),
			"with a label": caller.merge(t, path,
				`{"rules":[],"metadata":{"labels":{"rbac.authorization.k8s.io/aggregate-to-view":"true"}}}`),
			"with an owner taken away": caller.merge(t, path, `{"rules":[],"metadata":{"ownerReferences":null}}`),
		} {
			t.Run(level+" "+how, func(t *testing.T) { got.expect(t, http.StatusForbidden, roleGuarded(roleOf(level, set))) })
		}
	}
	for how, got := range map[string]apiResponse{
		"before there is a set":           caller.create(t, clusterRoles, clusterRole(future)),
		"before there is a set, by apply": caller.apply(t, clusterRoles+"/"+future, clusterRole(future)),
	} {
		t.Run(how, func(t *testing.T) { got.expect(t, http.StatusForbidden, roleGuarded(future)) })
	}
	// A deleted role cannot be bound while it is missing. Berth creates it again unchanged.
	caller.remove(t, clusterRoles+"/"+roleOf("binder", set)).expectSuccess(t)
	awaitRoles(t, set)
	caller.create(t, clusterRoleBindings, object{
		"metadata": object{"name": "mine"}, "roleRef": reference("ClusterRole", future), "subjects": []rbacv1.Subject{caller.subject()},
	}).expectPart(t, http.StatusNotFound, fmt.Sprintf("%q not found", future)) // releases name the role or the binding
	caller.create(t, bindings(namespace), binding(set)).expect(t, http.StatusForbidden, forUser(caller, mayNotBind(set)))
}

// TestAnAdminMayLabelTheRoleOfASet, so that other roles can aggregate it.
func TestAnAdminMayLabelTheRoleOfASet(t *testing.T) {
	set := newSet(t)
	admin := newUser(t, "admin")
	bindRole(t, admin.subject(), "cluster-admin")
	admin.awaitAllowed(t, "patch", clusterRoles)
	path := clusterRoles + "/" + roleOf("binder", set)
	admin.merge(t, path, `{"metadata":{"labels":{"tier":"one"}}}`).expectSuccess(t)
	admin.merge(t, path, `{"rules":[]}`).expectSuccess(t)
	kit.Await(t, "the manager has restored the rules of the role", func(ctx context.Context) error {
		got, err := adminUser(t).do(ctx, http.MethodGet, path, "", nil)
		if rules, _ := got.body["rules"].([]any); err == nil && len(rules) != 2 {
			err = fmt.Errorf("%d rules", len(rules))
		}
		return err
	})
	if got := getObject(t, path).label("tier"); got != "one" {
		t.Errorf("the label is %q", got)
	}
}
