package agent

import (
	"context"
	"net/http"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/membership/registration"
)

const (
	clusterGroup        = "cluster.open-cluster-management.io"
	setLabel            = clusterGroup + "/clusterset"
	clusters            = "/apis/" + clusterGroup + "/v1/managedclusters"
	requests            = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
	clusterRoles        = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
	clusterRoleBindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
)

func inNamespace(groupVersion, namespace, resource string) string {
	return groupVersion + "/namespaces/" + namespace + "/" + resource
}

func leases(namespace string) string {
	return inNamespace("/apis/coordination.k8s.io/v1", namespace, "leases")
}

// cluster returns a cluster to create, with a merge patch.
func cluster(t *testing.T, name, patch string) object {
	t.Helper()
	return merged(t, object{"apiVersion": clusterGroup + "/v1", "kind": "ManagedCluster", "metadata": object{"name": name}}, patch)
}

// mustCreate creates an object until the end of the test, and returns its path.
func mustCreate(t *testing.T, collection string, body object) string {
	t.Helper()
	created := administrator(t).create(t, collection, body).mustSucceed(t)
	path := collection + "/" + created["metadata"].(object)["name"].(string)
	removeAfterTest(t, path)
	return path
}

func removeAfterTest(t *testing.T, path string) {
	t.Helper()
	admin, ctx := administrator(t), context.WithoutCancel(t.Context())
	t.Cleanup(func() {
		got, err := admin.send(ctx, http.MethodDelete, path, jsonBody, nil)
		if err != nil || got.code >= http.StatusBadRequest && got.code != http.StatusNotFound {
			t.Errorf("deleting %s: %v: %s", path, err, got.message)
		}
	})
}

// acceptedCluster creates an accepted cluster with its lease. Its agents have the roles that the hub creates when it accepts a cluster.
func acceptedCluster(t *testing.T, name string) {
	t.Helper()
	ensureNamespace(t, name)
	mustCreate(t, clusters, cluster(t, name, `{"spec":{"hubAcceptsClient":true}}`))
	mustCreate(t, leases(name), object{
		"metadata": object{"name": "managed-cluster-lease", "labels": object{"open-cluster-management.io/cluster-name": name}},
		"spec":     object{"holderIdentity": "managed-cluster-lease", "leaseDurationSeconds": 60},
	})
	createRoles(t, name)
	newAgent(t, name).awaitAllowed(t, authorizationv1.ResourceAttributes{
		Verb: "update", Group: clusterGroup, Resource: "managedclusters",
		Name: name,
	})
	newAgent(t, name).awaitAllowed(t, authorizationv1.ResourceAttributes{
		Verb: "patch", Group: "work.open-cluster-management.io",
		Resource: "manifestworks", Namespace: name,
	})
	newAgent(t, name).awaitAllowed(t, authorizationv1.ResourceAttributes{
		Verb: "update", Group: "coordination.k8s.io", Resource: "leases", Namespace: name,
	})
}

// ensureNamespace creates a namespace that stays: the hub takes a while to delete one.
func ensureNamespace(t *testing.T, name string) {
	t.Helper()
	got := administrator(t).create(t, "/api/v1/namespaces", object{
		"metadata": object{"name": name, "labels": object{"open-cluster-management.io/cluster-name": name}},
	})
	if got.code != http.StatusConflict {
		got.mustSucceed(t)
	}
}

// createRoles creates the roles and bindings of the agents of an accepted cluster.
func createRoles(t *testing.T, name string) {
	t.Helper()
	const prefix = "open-cluster-management:managedcluster:"
	subjects := []object{
		group(registration.AgentGroup(name)), group("open-cluster-management:" + name),
		{"kind": "ServiceAccount", "namespace": name, "name": "berth-agent"},
	}
	mustCreate(t, clusterRoles, object{"metadata": object{"name": prefix + name}, "rules": []object{
		rule("certificates.k8s.io", "certificatesigningrequests", "create", "get", "list", "watch"),
		rule("register.open-cluster-management.io", "managedclusters/clientcertificates", "renew"),
		named(rule(clusterGroup, "managedclusters", "get", "list", "watch", "update"), name),
		named(rule(clusterGroup, "managedclusters/status", "patch", "update"), name),
	}})
	mustCreate(t, clusterRoleBindings, binding(prefix+name, prefix+name, subjects...))
	for kind, rules := range map[string][]object{
		"registration": {
			rule("coordination.k8s.io", "leases", "get", "list", "watch", "update"),
			rule("addon.open-cluster-management.io", "managedclusteraddons", "get", "list", "watch"),
			rule("addon.open-cluster-management.io", "managedclusteraddons/status", "patch", "update"),
			rule(clusterGroup, "addonplacementscores", "create"),
			named(rule(clusterGroup, "addonplacementscores", "get"), "berth-usage"),
			named(rule(clusterGroup, "addonplacementscores/status", "patch"), "berth-usage"),
			rule("events.k8s.io", "events", "create"),
		},
		"work": {
			rule("work.open-cluster-management.io", "manifestworks", "get", "list", "watch", "update", "patch"),
			rule("work.open-cluster-management.io", "manifestworks/status", "patch", "update"),
			rule("", "events", "create", "patch", "update"),
			rule("events.k8s.io", "events", "create", "patch", "update"),
		},
	} {
		if got := administrator(t).create(t, clusterRoles, object{"metadata": object{"name": prefix + kind}, "rules": rules}); got.code !=
			http.StatusConflict {
			got.mustSucceed(t)
		}
		mustCreate(t, inNamespace("/apis/rbac.authorization.k8s.io/v1", name, "rolebindings"),
			binding(prefix+name+":"+kind, prefix+kind, subjects...))
	}
}

func rule(group, resource string, verbs ...string) object {
	return object{"apiGroups": []string{group}, "resources": []string{resource}, "verbs": verbs}
}

// named limits a rule to objects of some names.
func named(rule object, names ...string) object {
	rule["resourceNames"] = names
	return rule
}

func group(name string) object {
	return object{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": name}
}

func user(name string) object {
	return object{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": name}
}

func binding(name, role string, subjects ...object) object {
	return object{
		"metadata": object{"name": name}, "subjects": subjects,
		"roleRef": object{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
	}
}

// newAgent returns the agent of a cluster, with a certificate.
func newAgent(t *testing.T, cluster string) requester {
	t.Helper()
	return newRequester(t, registration.AgentUser(cluster, "agent"), registration.AgentGroup(cluster), registration.AgentsGroup)
}

// withEveryRole binds a user to cluster-admin until the end of the test.
func withEveryRole(t *testing.T, r requester) requester {
	t.Helper()
	mustCreate(t, clusterRoleBindings, binding("every-role:"+r.Name(), "cluster-admin", user(r.Name())))
	r.awaitAllowed(t, authorizationv1.ResourceAttributes{Verb: "delete", Group: clusterGroup, Resource: "managedclusters"})
	return r
}

// withRole binds a user to a role with some rules until the end of the test.
func withRole(t *testing.T, r requester, name string, rules ...object) requester {
	t.Helper()
	mustCreate(t, clusterRoles, object{"metadata": object{"name": name}, "rules": rules})
	mustCreate(t, clusterRoleBindings, binding(name, name, user(r.Name())))
	return r
}

// awaitAllowed waits until roles permit a request.
func (r requester) awaitAllowed(t *testing.T, attributes authorizationv1.ResourceAttributes) {
	t.Helper()
	kit.AwaitAccess(t, shared, r.Name(), r.Groups(), attributes, true)
}
