package boundary

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// newSetMember returns a user of a namespace with a role of a set: "admin", "binder" or "viewer".
func newSetMember(t *testing.T, namespace, level, set string) user {
	t.Helper()
	out := newUser(t, level)
	bindRoleIn(t, namespace, out.subject(), "edit")
	bindRole(t, out.subject(), roleOf(level, set))
	out.awaitAllowed(t, "create", placements(namespace))
	out.awaitAllowed(t, "get", sets+"/"+set)
	return out
}

// TestChangingTheSetOfABinding uses a binder with an additional role to change bindings.
func TestChangingTheSetOfABinding(t *testing.T) {
	mine, theirs, namespace := newSet(t), newSet(t), shared.Namespace(t)
	caller := newSetMember(t, namespace, "binder", mine)
	bindRole(t, caller.subject(), role(t, ruleFor("get,update,patch", "managedclustersetbindings")))
	caller.awaitAllowed(t, "patch", bindings(namespace))
	caller.create(t, bindings(namespace), binding(mine)).expectSuccess(t)
	path := bindings(namespace) + "/" + mine
	turn := `{"spec":{"clusterSet":"` + theirs + `"}}`
	for how, got := range map[string]apiResponse{
		"by update":            caller.rewrite(t, path, turn),
		"by merge patch":       caller.merge(t, path, turn),
		"by JSON patch":        caller.patch(t, path, `[{"op":"replace","path":"/spec/clusterSet","value":"`+theirs+`"}]`),
		"by server-side apply": caller.apply(t, path, binding(mine).with(t, turn)),
		"by removing the set": caller.patch(t, path,
			`[{"op":"remove","path":"/spec/clusterSet"},{"op":"add","path":"/spec/clusterSet","value":"`+theirs+`"}]`),
	} {
		t.Run(how, func(t *testing.T) { got.expect(t, http.StatusBadRequest, falselyNamed(mine, theirs)) })
	}
	if got := getObject(t, path).at("spec.clusterSet"); got != mine {
		t.Errorf("the binding is of %v, want %s", got, mine)
	}
}

// TestRenamingABinding shows that the set of a binding never changes: it is the name of the binding.
func TestRenamingABinding(t *testing.T) {
	mine, theirs, namespace := newSet(t), newSet(t), shared.Namespace(t)
	caller := newSetMember(t, namespace, "binder", mine)
	bindRole(t, caller.subject(), role(t, ruleFor("get,update,patch", "managedclustersetbindings")))
	caller.awaitAllowed(t, "patch", bindings(namespace))
	caller.create(t, bindings(namespace), binding(mine)).expectSuccess(t)
	own, other := bindings(namespace)+"/"+mine, bindings(namespace)+"/"+theirs
	rename := `{"metadata":{"name":"` + theirs + `"},"spec":{"clusterSet":"` + theirs + `"}}`
	const mismatch = "the name of the object (%s) does not match the name on the URL (%s)"
	for how, try := range map[string]struct {
		got     apiResponse
		code    int
		message string
	}{
		"over itself":                 {caller.rewrite(t, own, rename), 400, fmt.Sprintf(mismatch, theirs, mine)},
		"by patch":                    {caller.merge(t, own, `{"metadata":{"name":"`+theirs+`"}}`), 400, fmt.Sprintf(mismatch, theirs, mine)},
		"by applying another binding": {caller.apply(t, other, binding(theirs)), 403, forUser(caller, mayNotBind(theirs))},
		"by creating another binding": {caller.create(t, bindings(namespace), binding(theirs)), 403, forUser(caller, mayNotBind(theirs))},
		"by creating a false name": {
			caller.create(t, bindings(namespace), binding(mine).with(t, `{"spec":{"clusterSet":"`+theirs+`"}}`)), 400,
			falselyNamed(mine, theirs),
		},
	} {
		t.Run(how, func(t *testing.T) { try.got.expect(t, try.code, try.message) })
	}
	overMissing := caller.update(t, other, getObject(t, own).with(t, rename))
	if hubtest.RunsLinkedKubernetes() {
		overMissing.expect(t, 404, resourceTitle("managedclustersetbindings", theirs)+" not found")
	} else { // a former release reports the UID, which differs
		overMissing.expectPart(t, 409, "Operation cannot be fulfilled")
	}
	if got := getObject(t, bindings(namespace)).names(); len(got) != 1 || got[0] != mine {
		t.Errorf("the namespace has the bindings %v, want %s alone", got, mine)
	}
}

func TestBindingInOtherNamespaces(t *testing.T) {
	mine, home, away := newSet(t), shared.Namespace(t), shared.Namespace(t)
	caller := newSetMember(t, home, "binder", mine)
	caller.create(t, bindings(away), binding(mine)).expect(t, http.StatusForbidden,
		forUser(caller, noRoleIn(away, "create", "managedclustersetbindings", "")))
}

// TestBindingByARoleBinding uses the owner of a namespace, who may grant any role in it that the owner has.
func TestBindingByARoleBinding(t *testing.T) {
	set, namespace := newSet(t), shared.Namespace(t)
	caller := newUser(t, "owner")
	bindRoleIn(t, namespace, caller.subject(), "admin")
	bindRoleIn(t, namespace, caller.subject(), roleOf("admin", set))
	bindRoleIn(t, namespace, caller.subject(), "cluster-admin")
	caller.awaitAllowed(t, "create", bindings(namespace))
	caller.create(t, bindings(namespace), binding(set)).expect(t, http.StatusForbidden, forUser(caller, mayNotBind(set)))
}

// TestGrantingTheAccountByARoleBinding grants the account of a namespace every permission in that namespace.
func TestGrantingTheAccountByARoleBinding(t *testing.T) {
	set, sentinel, namespace := newSet(t), newSet(t), shared.Namespace(t)
	mustCreate(t, "/api/v1/namespaces/"+namespace+"/serviceaccounts", object{"metadata": object{"name": "placement"}})
	account := kit.ServiceAccount(namespace, "placement")
	bindRoleIn(t, namespace, account, roleOf("admin", set))
	bindRoleIn(t, namespace, account, "cluster-admin")
	bindRole(t, account, roleOf("binder", sentinel)) // its effect shows that Berth has processed the earlier objects
	awaitValue(t, bindings(namespace)+"/"+sentinel, "spec.clusterSet", sentinel)
	if got := getObject(t, bindings(namespace)).names(); len(got) != 1 {
		t.Errorf("the namespace has the bindings %v, want %s alone", got, sentinel)
	}
}
