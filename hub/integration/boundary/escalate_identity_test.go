package boundary

import (
	"net/http"
	"testing"

	"github.com/berth-project/berth/hub/hubtest"
)

// TestImpersonation sends the headers by which administrators impersonate other users.
func TestImpersonation(t *testing.T) {
	set, namespace := newSet(t), shared.Namespace(t)
	binder, withoutRole := newSetMember(t, namespace, "binder", set), newUser(t, "no-role")
	name := newCluster(t, set)
	for sentence, impersonating := range map[string]struct {
		caller user
		mode   string
	}{
		"as the administrator": {withoutRole.withHeader("Impersonate-User", "berth-admin"), "user-info"},
		"in the administrators' group": {
			withoutRole.withHeader("Impersonate-User", withoutRole.Name()).withHeader("Impersonate-Group", "system:masters"), "user-info",
		},
		"as the binder":  {withoutRole.withHeader("Impersonate-User", binder.Name()), "user-info"},
		"as the manager": {withoutRole.withHeader("Impersonate-User", "system:serviceaccount:berth-system:berth"), "serviceaccount"},
		"as an account":  {withoutRole.withHeader("Impersonate-User", "system:serviceaccount:"+namespace+":placement"), "serviceaccount"},
		"with a false extra": {
			withoutRole.withHeader("Impersonate-User", withoutRole.Name()).withHeader("Impersonate-Extra-Scopes", "all"),
			"user-info",
		},
		"as a node": {withoutRole.withHeader("Impersonate-User", "system:node:a"), "arbitrary-node"},
	} {
		t.Run(sentence, func(t *testing.T) {
			caller, on := impersonating.caller, "impersonate-on:"+impersonating.mode+":"
			for _, try := range []struct {
				got     apiResponse
				refusal string
			}{
				{caller.create(t, clusters, cluster("fresh", set)), noRole(on+"create", "managedclusters", "")},
				{caller.read(t, clusters+"/"+name), noRole(on+"get", "managedclusters", name)},
				{caller.create(t, bindings(namespace), binding(set)), noRoleIn(namespace, on+"create", "managedclustersetbindings", "")},
				{caller.read(t, setViews), inView(noRole(on+"list", "managedclustersets", ""))},
				{caller.read(t, clusterViews+"/"+name), inView(noRole(on+"get", "managedclusters", name))},
				{caller.read(t, clusterViews+"?watch=true"), inView(noRole(on+"watch", "managedclusters", ""))},
			} {
				if !hubtest.RunsLinkedKubernetes() { // a former release names what may not be impersonated, and not the request
					try.got.expectPart(t, http.StatusForbidden, "User \""+caller.Name()+"\" cannot impersonate")
					continue
				}
				try.got.expect(t, http.StatusForbidden, forUser(caller, try.refusal))
			}
		})
	}
}
