package attack

import (
	"fmt"
	"net/http"
)

func acceptCluster(s *step) {
	s.join(s.cluster(s.tenant), s.tenant.set)
	s.touched = append(s.touched, "clusters")
}

// moveCluster moves a cluster from one tenant to another and back. After the step, a cluster of a tenant's pool is in the set of that
// tenant only.
func moveCluster(s *step) {
	move := func(name, set string) {
		s.t.Helper()
		s.request(s.admin, http.MethodPatch, clusters+"/"+name, mergePatch,
			toJSON(object{"metadata": object{"labels": object{group + "/clusterset": set}}}))
	}
	name := s.cluster(s.tenant)
	move(name, pick(s, s.otherTenant.set, "default"))
	s.awaitEffects()
	move(name, s.tenant.set)
}

func changeCluster(s *step) {
	name := s.cluster(s.tenant)
	switch s.random.IntN(4) {
	case 0:
		s.request(s.admin, http.MethodPatch, clusters+"/"+name+"/status", mergePatch, condition(pick(s, "True", "False")))
	case 1:
		s.request(s.admin, http.MethodPatch, clusters+"/"+name, mergePatch,
			toJSON(object{"spec": object{"hubAcceptsClient": pick(s, true, false)}}))
	case 2:
		s.request(s.admin, http.MethodPatch, clusters+"/"+name, mergePatch,
			toJSON(object{"spec": object{"taints": []object{{"key": "gpu", "effect": pick(s, "NoSelect", "PreferNoSelect", "NoSelectIfNew")}}}}))
	default:
		s.request(s.admin, http.MethodPost, scores(name), plainJSON, toJSON(newObject("AddOnPlacementScore", "v1alpha1", "load")))
		s.request(s.admin, http.MethodPatch, scores(name)+"/load/status", mergePatch,
			toJSON(object{"status": object{"scores": []object{{"name": "free", "value": s.random.IntN(200) - 100}}}}))
	}
}

func deleteCluster(s *step) {
	s.request(s.admin, http.MethodDelete, clusters+"/"+s.cluster(s.tenant), plainJSON, "")
}

// revokeSet takes a set away from a namespace, as an administrator does who revokes a permission. The binding may
// have a finalizer, which delays its deletion.
func revokeSet(s *step) {
	path := bindings(s.namespace()) + "/" + s.tenant.set
	if s.random.IntN(2) == 0 {
		s.request(s.admin, http.MethodPatch, path, mergePatch, `{"metadata":{"finalizers":["example.com/hold"]}}`)
	}
	s.request(s.admin, http.MethodDelete, path, plainJSON, "")
}

// changeSet changes the selector of a set, or deletes the set, and restores it.
func changeSet(s *step) {
	path := sets + "/" + s.tenant.set
	switch s.random.IntN(3) {
	case 0:
		s.request(s.admin, http.MethodDelete, path, plainJSON, "")
	case 1:
		s.request(s.admin, http.MethodPatch, path, mergePatch, `{"spec":{"clusterSelector":{"selectorType":"LabelSelector","labelSelector":{}}}}`)
	default:
		s.request(s.admin, http.MethodPatch, path, mergePatch,
			`{"spec":{"clusterSelector":{"selectorType":"LabelSelector","labelSelector":{"matchLabels":{"size":"m"}}}}}`)
	}
	s.awaitEffects()
	s.request(s.admin, http.MethodPost, sets, plainJSON, toJSON(newObject("ManagedClusterSet", "v1beta2", s.tenant.set)))
	s.request(s.admin, http.MethodPatch, path, mergePatch,
		`{"spec":{"clusterSelector":{"selectorType":"ExclusiveClusterSetLabel","labelSelector":null}}}`)
}

// editSlices changes slices, which only the manager should do.
func editSlices(s *step) {
	namespace, placement := s.namespace(), pick(s, s.placement(), "steady")
	path := decisions(namespace) + "/" + placement + "-decision-1"
	cluster := s.cluster(pick(s, s.tenant, s.otherTenant))
	entry := toJSON(object{"status": object{"decisions": []object{{"clusterName": cluster, "reason": ""}}}})
	switch s.random.IntN(5) {
	case 0:
		s.request(s.admin, http.MethodPatch, path+"/status", mergePatch, entry)
	case 1:
		s.request(s.admin, http.MethodDelete, path, plainJSON, "")
	case 2:
		s.request(s.admin, http.MethodPatch, path, mergePatch, `{"metadata":{"ownerReferences":null}}`)
	default:
		// A slice of another scheduler, or with the annotation, a slice of a deleted placement of Berth.
		foreign := sliceOf(placement+"-decision-7", placement, cluster)
		if s.random.IntN(2) == 0 {
			foreign.withMetadata(object{"annotations": object{pick(s, "berth-project.io", group) + "/decision-strategy-hash": "x"}})
		}
		s.request(s.admin, http.MethodPost, decisions(namespace), plainJSON, toJSON(foreign))
		s.request(s.admin, http.MethodPatch, decisions(namespace)+"/"+placement+"-decision-7/status", mergePatch, entry)
	}
}

// removeFinalizers removes the finalizers of a tenant's bindings, placements and clusters.
func removeFinalizers(s *step) {
	const none = `{"metadata":{"finalizers":null}}`
	for _, namespace := range s.tenant.namespaces {
		s.request(s.admin, http.MethodPatch, bindings(namespace)+"/"+s.tenant.set, mergePatch, none)
		for number := range placementPool {
			s.request(s.admin, http.MethodPatch, fmt.Sprintf("%s/p-%d", placements(namespace), number), mergePatch, none)
		}
	}
	for number := range clusterPool {
		s.request(s.admin, http.MethodPatch, clusters+"/"+s.tenant.cluster(number), mergePatch, none)
	}
}

// restart stops the manager, lets users write while it is down, and starts it again.
func restart(s *step) {
	s.down = true
	if s.random.IntN(2) == 0 {
		s.manager.Kill()
	} else {
		s.manager.Stop()
		s.manager.CheckLog(s.t)
	}
	s.request(s.tenant.editor, http.MethodDelete, bindings(s.namespace())+"/"+s.tenant.set, plainJSON, "")
	s.request(s.admin, http.MethodDelete, clusters+"/"+s.cluster(s.tenant), plainJSON, "")
	s.requestForbidden(s.tenant.binder, http.MethodPost, bindings(s.namespace()), plainJSON, toJSON(newBinding(s.otherTenant.set)))
	s.touched = append(s.touched, "bindings", "clusters")
	s.manager = s.startManager()
	s.awaitGuard()
}
