package boundary

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/berth-project/berth/hub/hubtest/kit"
)

// tryWidening tries to change the selector of a set as its admin, by one kind of write and in each version of the API.
func tryWidening(t *testing.T, verb string, try func(caller user, path string, wide object) apiResponse) {
	t.Helper()
	name := newSet(t)
	caller := newSetMember(t, shared.Namespace(t), "admin", name)
	before := getObject(t, sets+"/"+name)
	for _, version := range []string{"v1beta1", "v1beta2"} {
		path := strings.Replace(sets, "v1beta2", version, 1) + "/" + name
		wide := getObject(t, path).with(t, everything)
		try(caller, path, wide).expect(t, http.StatusForbidden, forUser(caller, noRole(verb, "managedclustersets", name)))
	}
	if after := getObject(t, sets+"/"+name); after.at("metadata.generation") != before.at("metadata.generation") {
		t.Errorf("the set is now %v", after)
	}
}

func TestWideningASetByUpdate(t *testing.T) {
	tryWidening(t, "update", func(caller user, path string, wide object) apiResponse { return caller.update(t, path, wide) })
}

func TestWideningASetByPatch(t *testing.T) {
	tryWidening(t, "patch", func(caller user, path string, _ object) apiResponse { return caller.merge(t, path, everything) })
	tryWidening(t, "patch", func(caller user, path string, _ object) apiResponse {
		return caller.patch(t, path,
			`[{"op":"replace","path":"/spec/clusterSelector","value":{"selectorType":"LabelSelector","labelSelector":{}}}]`)
	})
}

func TestWideningASetByServerSideApply(t *testing.T) {
	tryWidening(t, "patch", func(caller user, path string, wide object) apiResponse {
		return caller.apply(t, path, wide.with(t, `{"metadata":{"managedFields":null}}`))
	})
}

// TestWideningASetThroughItsStatus uses an additional role to write the status, which no admin of a set has.
func TestWideningASetThroughItsStatus(t *testing.T) {
	name := newSet(t)
	caller := newSetMember(t, shared.Namespace(t), "admin", name)
	path := sets + "/" + name + "/status"
	caller.merge(t, path, everything).expect(t, http.StatusForbidden, forUser(caller, noRole("patch", "managedclustersets/status", name)))
	bindRole(t, caller.subject(), role(t, ruleFor("patch", "managedclustersets/status", name)))
	caller.awaitAllowed(t, "patch", path)
	caller.merge(t, path, everything).expectSuccess(t)
	if got := getObject(t, sets+"/"+name).at("spec.clusterSelector.selectorType"); got != "ExclusiveClusterSetLabel" {
		t.Errorf("after the write to the status, the selector is %v", got)
	}
}

// TestReplacingASetByAWiderSet would need to delete the set first.
func TestReplacingASetByAWiderSet(t *testing.T) {
	name := newSet(t)
	caller := newSetMember(t, shared.Namespace(t), "admin", name)
	caller.remove(t, sets+"/"+name).expect(t, http.StatusForbidden, forUser(caller, noRole("delete", "managedclustersets", name)))
	caller.remove(t, sets+"?fieldSelector=metadata.name="+name).expect(t, http.StatusForbidden,
		forUser(caller, noRole("deletecollection", "managedclustersets", "")))
	caller.create(t, sets, set(name).with(t, everything)).expect(t, http.StatusForbidden,
		forUser(caller, noRole("create", "managedclustersets", "")))
	// Only an administrator may create the deleted set again. Its roles are deleted too.
	adminUser(t).remove(t, sets+"/"+name).expectSuccess(t)
	refusal := forUser(caller, noRole("create", "managedclustersets", "")) +
		fmt.Sprintf(": RBAC: clusterrole.rbac.authorization.k8s.io %q not found", roleOf("admin", name))
	kit.Await(t, "the wider set is refused", func(ctx context.Context) error {
		got, err := caller.do(ctx, http.MethodPost, sets, "application/json", set(name).with(t, everything))
		if err == nil && (got.Code != http.StatusForbidden || got.Message != refusal) {
			err = fmt.Errorf("%d %s", got.Code, got.Message)
		}
		return err
	})
	adminUser(t).read(t, sets+"/"+name).expect(t, http.StatusNotFound, resourceTitle("managedclustersets", name)+" not found")
}
