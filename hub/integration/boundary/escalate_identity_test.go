package boundary

import (
	"net/http"
	"testing"
)

// TestActingAsSomebodyElse sends the headers by which administrators act as others.
func TestActingAsSomebodyElse(t *testing.T) {
	set, namespace := newSet(t), shared.Namespace(t)
	binder, stranger := member(t, namespace, "binder", set), someone(t, "stranger")
	name := newCluster(t, set)
	for sentence, guise := range map[string]struct {
		who  person
		mode string
	}{
		"as the administrator": {stranger.claiming("Impersonate-User", "berth-admin"), "user-info"},
		"in the administrators' group": {
			stranger.claiming("Impersonate-User", stranger.name).claiming("Impersonate-Group", "system:masters"), "user-info",
		},
		"as the binder":      {stranger.claiming("Impersonate-User", binder.name), "user-info"},
		"as the manager":     {stranger.claiming("Impersonate-User", "system:serviceaccount:berth-system:berth"), "serviceaccount"},
		"as an account":      {stranger.claiming("Impersonate-User", "system:serviceaccount:"+namespace+":placement"), "serviceaccount"},
		"with a false extra": {stranger.claiming("Impersonate-User", stranger.name).claiming("Impersonate-Extra-Scopes", "all"), "user-info"},
		"as a node":          {stranger.claiming("Impersonate-User", "system:node:a"), "arbitrary-node"},
	} {
		t.Run(sentence, func(t *testing.T) {
			who, on := guise.who, "impersonate-on:"+guise.mode+":"
			for _, try := range []struct {
				got     answer
				refusal string
			}{
				{who.create(t, clusters, cluster("fresh", set)), noRole(on+"create", "managedclusters", "")},
				{who.read(t, clusters+"/"+name), noRole(on+"get", "managedclusters", name)},
				{who.create(t, bindings(namespace), binding(set)), noRoleIn(namespace, on+"create", "managedclustersetbindings", "")},
				{who.read(t, setViews), inView(noRole(on+"list", "managedclustersets", ""))},
				{who.read(t, clusterViews+"/"+name), inView(noRole(on+"get", "managedclusters", name))},
				{who.read(t, clusterViews+"?watch=true"), inView(noRole(on+"watch", "managedclusters", ""))},
			} {
				try.got.is(t, http.StatusForbidden, by(who, try.refusal))
			}
		})
	}
}
