package boundary

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/berth-project/berth/hub/hubtest"
)

// widened tries to give a set another selector, in one way of writing, as its admin; in each version of the kind.
func widened(t *testing.T, verb string, try func(who person, path string, wide object) answer) {
	t.Helper()
	name := newSet(t)
	who := member(t, shared.Namespace(t), "admin", name)
	before := stored(t, sets+"/"+name)
	for _, version := range []string{"v1beta1", "v1beta2"} {
		path := strings.Replace(sets, "v1beta2", version, 1) + "/" + name
		wide := stored(t, path).with(t, everything)
		try(who, path, wide).is(t, http.StatusForbidden, by(who, noRole(verb, "managedclustersets", name)))
	}
	if after := stored(t, sets+"/"+name); after.at("metadata.generation") != before.at("metadata.generation") {
		t.Errorf("the set became %v", after)
	}
}

func TestWideningASetByUpdate(t *testing.T) {
	widened(t, "update", func(who person, path string, wide object) answer { return who.update(t, path, wide) })
}

func TestWideningASetByPatch(t *testing.T) {
	widened(t, "patch", func(who person, path string, _ object) answer { return who.merge(t, path, everything) })
	widened(t, "patch", func(who person, path string, _ object) answer {
		return who.patch(t, path, `[{"op":"replace","path":"/spec/clusterSelector","value":{"selectorType":"LabelSelector","labelSelector":{}}}]`)
	})
}

func TestWideningASetByServerSideApply(t *testing.T) {
	widened(t, "patch", func(who person, path string, wide object) answer {
		return who.apply(t, path, wide.with(t, `{"metadata":{"managedFields":null}}`))
	})
}

// TestWideningASetThroughItsStatus takes a role that no admin of a set has, to write its status.
func TestWideningASetThroughItsStatus(t *testing.T) {
	name := newSet(t)
	who := member(t, shared.Namespace(t), "admin", name)
	path := sets + "/" + name + "/status"
	who.merge(t, path, everything).is(t, http.StatusForbidden, by(who, noRole("patch", "managedclustersets/status", name)))
	bind(t, who.subject(), role(t, to("patch", "managedclustersets/status", name)))
	who.may(t, "patch", path)
	who.merge(t, path, everything).ok(t)
	if got := stored(t, sets+"/"+name).at("spec.clusterSelector.selectorType"); got != "ExclusiveClusterSetLabel" {
		t.Errorf("through the status the selector became %v", got)
	}
}

// TestReplacingASetByAWiderOne needs the set to go first.
func TestReplacingASetByAWiderOne(t *testing.T) {
	name := newSet(t)
	who := member(t, shared.Namespace(t), "admin", name)
	who.remove(t, sets+"/"+name).is(t, http.StatusForbidden, by(who, noRole("delete", "managedclustersets", name)))
	who.remove(t, sets+"?fieldSelector=metadata.name="+name).is(t, http.StatusForbidden, by(who, noRole("deletecollection", "managedclustersets", "")))
	who.create(t, sets, set(name).with(t, everything)).is(t, http.StatusForbidden, by(who, noRole("create", "managedclustersets", "")))
	// A set that is gone already comes back at nobody's hand but an administrator's; the roles have gone with it.
	root(t).remove(t, sets+"/"+name).ok(t)
	refusal := by(who, noRole("create", "managedclustersets", "")) + fmt.Sprintf(": RBAC: clusterrole.rbac.authorization.k8s.io %q not found", roleOf("admin", name))
	hubtest.Eventually(t, soon, func(ctx context.Context) error {
		got, err := who.ask(ctx, http.MethodPost, sets, "application/json", set(name).with(t, everything))
		if err == nil && (got.Code != http.StatusForbidden || got.Message != refusal) {
			err = fmt.Errorf("%d %s", got.Code, got.Message)
		}
		return err
	})
	root(t).read(t, sets+"/"+name).is(t, http.StatusNotFound, titled("managedclustersets", name)+" not found")
}
