package boundary

import (
	"net/http"
	"testing"
)

// TestImpersonation sends the headers by which administrators act as others.
func TestImpersonation(t *testing.T) {
	set, namespace := newSet(t), shared.Namespace(t)
	binder, stranger := newSetMember(t, namespace, "binder", set), newUser(t, "stranger")
	name := newCluster(t, set)
	for sentence, guise := range map[string]struct {
		who  user
		mode string
	}{
		"as the administrator": {stranger.withHeader("Impersonate-User", "berth-admin"), "user-info"},
		"in the administrators' group": {
			stranger.withHeader("Impersonate-User", stranger.name).withHeader("Impersonate-Group", "system:masters"), "user-info",
		},
		"as the binder":      {stranger.withHeader("Impersonate-User", binder.name), "user-info"},
		"as the manager":     {stranger.withHeader("Impersonate-User", "system:serviceaccount:berth-system:berth"), "serviceaccount"},
		"as an account":      {stranger.withHeader("Impersonate-User", "system:serviceaccount:"+namespace+":placement"), "serviceaccount"},
		"with a false extra": {stranger.withHeader("Impersonate-User", stranger.name).withHeader("Impersonate-Extra-Scopes", "all"), "user-info"},
		"as a node":          {stranger.withHeader("Impersonate-User", "system:node:a"), "arbitrary-node"},
	} {
		t.Run(sentence, func(t *testing.T) {
			who, on := guise.who, "impersonate-on:"+guise.mode+":"
			for _, try := range []struct {
				got     apiResponse
				refusal string
			}{
				{who.create(t, clusters, cluster("fresh", set)), noRole(on+"create", "managedclusters", "")},
				{who.read(t, clusters+"/"+name), noRole(on+"get", "managedclusters", name)},
				{who.create(t, bindings(namespace), binding(set)), noRoleIn(namespace, on+"create", "managedclustersetbindings", "")},
				{who.read(t, setViews), inView(noRole(on+"list", "managedclustersets", ""))},
				{who.read(t, clusterViews+"/"+name), inView(noRole(on+"get", "managedclusters", name))},
				{who.read(t, clusterViews+"?watch=true"), inView(noRole(on+"watch", "managedclusters", ""))},
			} {
				try.got.expect(t, http.StatusForbidden, forUser(who, try.refusal))
			}
		})
	}
}
