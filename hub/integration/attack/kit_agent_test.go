package attack

import (
	"net/http"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/membership/registration"
)

const (
	// agentPool is the number of clusters of a tenant that have agents. They are the first of its pool.
	agentPool = 2
	// strongAgents is the group of the agents that have every permission, so that only admission limits them.
	strongAgents = "attack:strong-agents"

	leaseName       = "managed-cluster-lease"
	agentAnnotation = "agent.open-cluster-management.io/"
	certificates    = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
	serviceAccounts = "serviceaccounts"
)

// agent is the agent of a cluster, with a certificate.
type agent struct {
	*user
	cluster string
}

func leases(namespace string) string {
	return "/apis/coordination.k8s.io/v1/namespaces/" + namespace + "/leases"
}

func core(namespace, resource string) string {
	return namespaces + "/" + namespace + "/" + resource
}

// newAgents returns the agents of a tenant's clusters: one with the permissions that an accepted cluster gives, and one with every
// permission.
func (t *testHub) newAgents(of *tenant) []agent {
	t.t.Helper()
	t.createIfMissing(clusterRoleBindings, roleBinding(strongAgents, "cluster-admin", strongAgents))
	var out []agent
	for number := range agentPool {
		cluster := of.cluster(number)
		t.createAccess(cluster)
		for _, groups := range [][]string{nil, {strongAgents}} {
			groups = append(groups, registration.AgentGroup(cluster), registration.AgentsGroup)
			name := registration.AgentUser(cluster, "a")
			caller := newUser(t.t, name, shared.ConfigFor(t.t, name, groups...))
			t.awaitAccess(caller, http.MethodGet, clusters+"/"+cluster)
			out = append(out, agent{caller, cluster})
		}
	}
	return out
}

// createAccess creates what the hub creates for the agent of an accepted cluster.
func (t *testHub) createAccess(cluster string) {
	t.t.Helper()
	name, own := registration.ClusterRole(cluster), registration.AgentGroup(cluster)
	t.createIfMissing(clusterRoles, object{"metadata": object{"name": name}, "rules": []rbacv1.PolicyRule{
		{
			APIGroups: []string{"certificates.k8s.io"}, Resources: []string{"certificatesigningrequests"},
			Verbs: []string{"create", "get", "list", "watch"},
		},
		{
			APIGroups: []string{group}, Resources: []string{"managedclusters"}, ResourceNames: []string{cluster},
			Verbs: []string{"get", "list", "watch", "update"},
		},
		{
			APIGroups: []string{group}, Resources: []string{"managedclusters/status"}, ResourceNames: []string{cluster},
			Verbs: []string{"patch", "update"},
		},
	}})
	t.createIfMissing(clusterRoleBindings, roleBinding(name, name, own))
	inNamespace := object{"metadata": object{"name": "agent"}, "rules": []rbacv1.PolicyRule{
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"get", "list", "watch", "update"}},
		{APIGroups: []string{"events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create"}},
	}}
	t.createIfMissing("/apis/rbac.authorization.k8s.io/v1/namespaces/"+cluster+"/roles", inNamespace)
	bound := roleBinding("agent", "agent", own)
	bound["roleRef"] = kit.Role("agent")
	t.createIfMissing(roleBindings(cluster), bound)
	t.createIfMissing(leases(cluster), object{"metadata": object{"name": leaseName}, "spec": object{"leaseDurationSeconds": 60}})
}

// roleBinding returns the binding of a group to a ClusterRole.
func roleBinding(name, role, group string) object {
	return object{
		"metadata": object{"name": name}, "subjects": []rbacv1.Subject{kit.Group(group)},
		"roleRef": kit.ClusterRole(role),
	}
}

// newRequest returns a request for the certificate of an agent of a cluster.
func (t *testHub) newRequest(cluster string) object {
	t.t.Helper()
	request, _ := kit.CertificateRequest(t.t, registration.AgentUser(cluster, "a"), registration.AgentGroup(cluster), registration.AgentsGroup)
	return object{
		"metadata": object{"generateName": "attack-", "labels": object{"open-cluster-management.io/cluster-name": cluster}},
		"spec": object{
			"request":    request,
			"signerName": "kubernetes.io/kube-apiserver-client", "usages": []string{"client auth"},
		},
	}
}

// ownedCollections are the collections in which an agent may change at most its own cluster.
var ownedCollections = []string{
	clusters, sets, namespaces, clusterRoleBindings, "/apis/" + group + "/v1beta2/managedclustersetbindings",
	"/apis/" + group + "/v1beta1/placements",
	"/apis/rbac.authorization.k8s.io/v1/rolebindings", "/apis/coordination.k8s.io/v1/leases", "/api/v1/serviceaccounts",
}

// unowned returns the parts of the stored objects that the agent of a cluster must not change, by path.
func (t *testHub) unowned(cluster string) map[string]any {
	t.t.Helper()
	out := map[string]any{}
	for _, collection := range ownedCollections {
		got, err := t.admin.send(t.t.Context(), http.MethodGet, collection, plainJSON, "")
		if err != nil || got.code != http.StatusOK {
			t.t.Fatalf("listing %s: %d %s %v", collection, got.code, got.message, err)
		}
		items, _ := got.body["items"].([]any)
		for _, item := range items {
			found, _ := item.(map[string]any)
			metadata := child(found, "metadata")
			name, _ := metadata["name"].(string)
			namespace, _ := metadata["namespace"].(string)
			lease := strings.HasSuffix(collection, "/leases")
			if strings.HasPrefix(name, "sentinel") || namespace == sentinelNamespace || lease && (name != leaseName || namespace == cluster) {
				continue // the test and the manager write these
			}
			for _, key := range []string{"managedFields", "resourceVersion", "generation"} {
				delete(metadata, key)
			}
			switch {
			case collection == clusters && name == cluster:
				dropOwned(found)
			case collection != clusters:
				delete(found, "status")
				delete(metadata, "annotations") // the manager records its work there
			}
			out[collection+" "+namespace+"/"+name] = found
		}
	}
	return out
}

// dropOwned removes what the agent may change of its cluster, and what the manager derives from that.
func dropOwned(cluster map[string]any) {
	metadata := child(cluster, "metadata")
	annotations := child(metadata, "annotations")
	metadata["annotations"] = annotations // an empty one where it is missing
	for key := range annotations {
		if strings.HasPrefix(key, agentAnnotation) {
			delete(annotations, key)
		}
	}
	spec := child(cluster, "spec")
	delete(spec, "managedClusterClientConfigs")
	taints, _ := spec["taints"].([]any)
	var kept []any
	for _, taint := range taints {
		if key := taint.(map[string]any)["key"]; key != group+"/unreachable" && key != group+"/unavailable" {
			delete(taint.(map[string]any), "timeAdded")
			kept = append(kept, taint)
		}
	}
	spec["taints"] = kept
	conditions, _ := child(cluster, "status")["conditions"].([]any)
	var accepted []any
	for _, condition := range conditions {
		if condition.(map[string]any)["type"] == "HubAcceptedManagedCluster" {
			accepted = append(accepted, condition)
		}
	}
	cluster["status"] = accepted
}

// child returns an object in an object; an empty one where it is missing.
func child(of map[string]any, key string) map[string]any {
	if found, ok := of[key].(map[string]any); ok {
		return found
	}
	return map[string]any{}
}

// agent returns a random agent of the tenant.
func (s *step) agent() agent { return pick(s, s.tenant.agents...) }
