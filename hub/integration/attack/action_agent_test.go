package attack

import (
	"net/http"

	"github.com/google/go-cmp/cmp"
)

// attackAsAgent sends requests with the credentials of the agent of a cluster, within and beyond its permissions. The agent may lie
// about its own cluster. Nothing else may change.
func attackAsAgent(s *step) {
	caller := s.agent()
	before := s.unowned(caller.cluster)
	s.report(caller)
	pick(s, (*step).forgeOwnCluster, (*step).forgeOtherCluster, (*step).forgeRequests, (*step).leaveNamespace)(s, caller)
	s.awaitEffects()
	if diff := cmp.Diff(before, s.unowned(caller.cluster)); diff != "" {
		s.t.Errorf("an agent of %s changed what it must not (-before +after):\n%s", caller.cluster, diff)
	}
}

// report sends what an agent may write: the hub may refuse it only for a cluster that is gone.
func (s *step) report(caller agent) {
	s.t.Helper()
	path := clusters + "/" + caller.cluster
	switch s.random.IntN(4) {
	case 0:
		s.change(caller, path, func(cluster map[string]any) {
			metadata := child(cluster, "metadata")
			annotations := child(metadata, "annotations")
			annotations[agentAnnotation+"hub-ca-hash"] = pick(s, "lie", "another lie")
			metadata["annotations"] = annotations
			child(cluster, "spec")["managedClusterClientConfigs"] = []object{{"url": pick(s, "https://a.example", "https://b.example")}}
		})
	case 1:
		s.change(caller, leases(caller.cluster)+"/"+leaseName, func(lease map[string]any) {
			child(lease, "spec")["renewTime"] = pick(s, "2026-11-24T00:00:00.000000Z", "2100-01-01T00:00:00.000000Z")
		})
	default:
		s.change(caller, path+"/status", func(cluster map[string]any) {
			for _, condition := range child(cluster, "status")["conditions"].([]any) {
				if of := condition.(map[string]any); of["type"] == "ManagedClusterConditionAvailable" {
					of["status"], of["reason"] = pick(s, "True", "True", "False", "Unknown"), "Attack"
				}
			}
			child(cluster, "status")["clusterClaims"] = []object{{"name": "id.k8s.io", "value": pick(s, "one", "another")}}
			child(cluster, "status")["capacity"] = object{"cpu": pick(s, "1", "1000000")}
		})
	}
}

// change reads an object, changes it and replaces it. It does nothing where the object is missing or has no conditions.
func (s *step) change(caller agent, path string, change func(map[string]any)) (sent bool) {
	s.t.Helper()
	got := s.request(caller.user, http.MethodGet, path, plainJSON, "")
	_, conditions := child(got.body, "status")["conditions"].([]any)
	if got.code != http.StatusOK || !conditions && got.body["kind"] == "ManagedCluster" {
		return false
	}
	change(got.body)
	return s.request(caller.user, http.MethodPut, path, plainJSON, toJSON(got.body)).code < http.StatusBadRequest
}

// changeForbidden is change for a change that must be refused.
func (s *step) changeForbidden(caller agent, path string, change func(map[string]any)) {
	s.t.Helper()
	if s.change(caller, path, change) {
		s.t.Errorf("a forbidden change of %s succeeded: %s", caller.Name(), path)
	}
}

func (s *step) forgeOwnCluster(caller agent) {
	path := clusters + "/" + caller.cluster
	for _, forge := range []func(metadata, spec map[string]any){
		func(metadata, _ map[string]any) {
			metadata["labels"] = object{group + "/clusterset": s.otherTenant.set, "forged": "yes"}
		},
		func(metadata, _ map[string]any) {
			metadata["labels"] = object{"feature.open-cluster-management.io/addon-forged": "available"}
		},
		func(metadata, _ map[string]any) { metadata["annotations"] = object{"berth-project.io/forged": "true"} },
		func(metadata, _ map[string]any) { metadata["finalizers"] = []string{"example.com/forged"} },
		func(_, spec map[string]any) { spec["taints"] = []object{{"key": "forged", "effect": "NoSelect"}} },
		func(_, spec map[string]any) { spec["leaseDurationSeconds"] = 100000 },
		func(_, spec map[string]any) { spec["hubAcceptsClient"] = spec["hubAcceptsClient"] != true },
	} {
		s.changeForbidden(caller, path, func(cluster map[string]any) { forge(child(cluster, "metadata"), child(cluster, "spec")) })
	}
	s.changeForbidden(caller, path+"/status", func(cluster map[string]any) {
		child(cluster, "status")["conditions"] = []object{{
			"type": "HubAcceptedManagedCluster", "status": "False", "reason": "Forged", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z",
		}}
	})
	s.requestForbidden(caller.user, http.MethodPatch, path, mergePatch, `{"metadata":{"labels":{"forged":"yes"}}}`)
	s.requestForbidden(caller.user, http.MethodDelete, path, plainJSON, "")
}

func (s *step) forgeOtherCluster(caller agent) {
	other := s.cluster(pick(s, s.tenant, s.otherTenant))
	if other == caller.cluster {
		other = sentinelCluster
	}
	path := clusters + "/" + other
	s.requestForbidden(caller.user, http.MethodPatch, path, mergePatch, `{"metadata":{"annotations":{"`+agentAnnotation+`forged":"yes"}}}`)
	s.requestForbidden(caller.user, http.MethodPatch, path, mergePatch, `{"spec":{"taints":[{"key":"forged","effect":"NoSelect"}]}}`)
	s.requestForbidden(caller.user, http.MethodPatch, path+"/status", mergePatch, condition("False"))
	s.requestForbidden(caller.user, http.MethodDelete, path, plainJSON, "")
	s.requestForbidden(caller.user, http.MethodPatch, leases(other)+"/"+leaseName, mergePatch, `{"spec":{"holderIdentity":"forged"}}`)
	s.requestForbidden(caller.user, http.MethodPost, leases(other), plainJSON, `{"metadata":{"name":"forged"}}`)
	s.requestForbidden(caller.user, http.MethodPost, core(other, serviceAccounts), plainJSON, `{"metadata":{"name":"berth-agent"}}`)
	s.requestForbidden(caller.user, http.MethodPost, clusters, plainJSON, toJSON(newCluster(s.tenant.set+"-forged", nil)))
}

// forgeRequests requests certificates and tokens. The agent may request a certificate of its own cluster, and approves none.
func (s *step) forgeRequests(caller agent) {
	other := s.cluster(s.otherTenant)
	s.requestForbidden(caller.user, http.MethodPost, certificates, plainJSON, toJSON(s.newRequest(other)))
	got := s.request(caller.user, http.MethodPost, certificates, plainJSON, toJSON(s.newRequest(caller.cluster)))
	name, _ := child(got.body, "metadata")["name"].(string)
	if got.code != http.StatusCreated {
		s.t.Errorf("the request for a certificate of %s was refused: %s", caller.cluster, got.message)
		return
	}
	approval := `{"status":{"conditions":[{"type":"Approved","status":"True","reason":"Forged"}]}}`
	s.requestForbidden(caller.user, http.MethodPatch, certificates+"/"+name+"/approval", mergePatch, approval)
	s.requestForbidden(caller.user, http.MethodPatch, certificates+"/"+name, mergePatch,
		`{"metadata":{"labels":{"open-cluster-management.io/cluster-name":"`+other+`"}}}`)
	for _, namespace := range []string{caller.cluster, other, s.namespace()} {
		s.requestForbidden(caller.user, http.MethodPost, core(namespace, serviceAccounts)+"/default/token", plainJSON, `{}`)
	}
	s.request(s.admin, http.MethodDelete, certificates+"/"+name, plainJSON, "")
}

// leaveNamespace writes objects of tenants and of the hub, and other objects in the namespace of the cluster.
func (s *step) leaveNamespace(caller agent) {
	namespace := pick(s, s.namespace(), pick(s, s.otherTenant.namespaces...), caller.cluster)
	s.requestForbidden(caller.user, http.MethodPost, placements(namespace), plainJSON, toJSON(newPlacement("forged", object{})))
	s.requestForbidden(caller.user, http.MethodPatch, placements(namespace)+"/steady", mergePatch, `{"spec":{"numberOfClusters":0}}`)
	s.requestForbidden(caller.user, http.MethodPatch, decisions(namespace)+"/steady-decision-1/status", mergePatch,
		`{"status":{"decisions":[]}}`)
	s.requestForbidden(caller.user, http.MethodPost, bindings(namespace), plainJSON, toJSON(newBinding(s.otherTenant.set)))
	s.requestForbidden(caller.user, http.MethodPatch, sets+"/"+s.tenant.set, mergePatch,
		`{"spec":{"clusterSelector":{"selectorType":"LabelSelector","labelSelector":{}}}}`)
	s.requestForbidden(caller.user, http.MethodPost, namespaces, plainJSON, `{"metadata":{"name":"forged"}}`)
	s.requestForbidden(caller.user, http.MethodPost, roleBindings(namespace), plainJSON, toJSON(roleBinding("forged", "admin", strongAgents)))
	s.requestForbidden(caller.user, http.MethodPost, core(namespace, "secrets"), plainJSON, `{"metadata":{"name":"forged"}}`)
	s.requestForbidden(caller.user, http.MethodPost, leases(caller.cluster), plainJSON, `{"metadata":{"name":"forged"}}`)
	s.requestForbidden(caller.user, http.MethodDelete, leases(caller.cluster)+"/"+leaseName, plainJSON, "")
}
