package attack

import (
	"fmt"
	"net/http"
)

func acceptCluster(s *step) {
	s.join(s.cluster(s.me), s.me.set)
	s.touched = append(s.touched, "clusters")
}

// moveCluster moves a cluster from one tenant to another, and back, so that a cluster of a tenant's pool concerns no other
// one when the step is over.
func moveCluster(s *step) {
	move := func(name, set string) {
		s.t.Helper()
		s.try(s.root, http.MethodPatch, clusters+"/"+name, mergePatch, text(object{"metadata": object{"labels": object{group + "/clusterset": set}}}))
	}
	name := s.cluster(s.me)
	move(name, one(s, s.other.set, "default"))
	s.settleNow()
	move(name, s.me.set)
}

func changeCluster(s *step) {
	name := s.cluster(s.me)
	switch s.random.IntN(4) {
	case 0:
		s.try(s.root, http.MethodPatch, clusters+"/"+name+"/status", mergePatch, condition(one(s, "True", "False")))
	case 1:
		s.try(s.root, http.MethodPatch, clusters+"/"+name, mergePatch, text(object{"spec": object{"hubAcceptsClient": one(s, true, false)}}))
	case 2:
		s.try(s.root, http.MethodPatch, clusters+"/"+name, mergePatch, text(object{"spec": object{"taints": []object{{"key": "gpu", "effect": one(s, "NoSelect", "PreferNoSelect", "NoSelectIfNew")}}}}))
	default:
		s.try(s.root, http.MethodPost, scores(name), plainJSON, text(built("AddOnPlacementScore", "v1alpha1", "load")))
		s.try(s.root, http.MethodPatch, scores(name)+"/load/status", mergePatch, text(object{"status": object{"scores": []object{{"name": "free", "value": s.random.IntN(200) - 100}}}}))
	}
}

func deleteCluster(s *step) {
	s.try(s.root, http.MethodDelete, clusters+"/"+s.cluster(s.me), plainJSON, "")
}

// revokeSet takes a set away from a namespace, as an administrator does who takes a right back: even where the binding, or
// the set, is held.
func revokeSet(s *step) {
	path := bindings(s.namespace()) + "/" + s.me.set
	if s.random.IntN(2) == 0 {
		s.try(s.root, http.MethodPatch, path, mergePatch, `{"metadata":{"finalizers":["example.com/hold"]}}`)
	}
	s.try(s.root, http.MethodDelete, path, plainJSON, "")
}

// changeSet lets a set reach more, or less, and puts it back as it was.
func changeSet(s *step) {
	path := sets + "/" + s.me.set
	switch s.random.IntN(3) {
	case 0:
		s.try(s.root, http.MethodDelete, path, plainJSON, "")
	case 1:
		s.try(s.root, http.MethodPatch, path, mergePatch, `{"spec":{"clusterSelector":{"selectorType":"LabelSelector","labelSelector":{}}}}`)
	default:
		s.try(s.root, http.MethodPatch, path, mergePatch, `{"spec":{"clusterSelector":{"selectorType":"LabelSelector","labelSelector":{"matchLabels":{"size":"m"}}}}}`)
	}
	s.settleNow()
	s.try(s.root, http.MethodPost, sets, plainJSON, text(built("ManagedClusterSet", "v1beta2", s.me.set)))
	s.try(s.root, http.MethodPatch, path, mergePatch, `{"spec":{"clusterSelector":{"selectorType":"ExclusiveClusterSetLabel","labelSelector":null}}}`)
}

// writeByHand does to slices what only the manager should do, on purpose or by accident.
func writeByHand(s *step) {
	namespace, placement := s.namespace(), one(s, s.placement(), "steady")
	path := decisions(namespace) + "/" + placement + "-decision-1"
	cluster := s.cluster(one(s, s.me, s.other))
	entry := text(object{"status": object{"decisions": []object{{"clusterName": cluster, "reason": ""}}}})
	switch s.random.IntN(5) {
	case 0:
		s.try(s.root, http.MethodPatch, path+"/status", mergePatch, entry)
	case 1:
		s.try(s.root, http.MethodDelete, path, plainJSON, "")
	case 2:
		s.try(s.root, http.MethodPatch, path, mergePatch, `{"metadata":{"ownerReferences":null}}`)
	default:
		// What another scheduler would store, or with the annotation, what is left of a placement that is gone.
		foreign := sliceOf(placement+"-decision-7", placement, cluster)
		if s.random.IntN(2) == 0 {
			foreign.having(object{"annotations": object{group + "/decision-strategy-hash": "x"}})
		}
		s.try(s.root, http.MethodPost, decisions(namespace), plainJSON, text(foreign))
		s.try(s.root, http.MethodPatch, decisions(namespace)+"/"+placement+"-decision-7/status", mergePatch, entry)
	}
}

// letGo removes the finalizers that hold something.
func letGo(s *step) {
	const none = `{"metadata":{"finalizers":null}}`
	for _, namespace := range s.me.namespaces {
		s.try(s.root, http.MethodPatch, bindings(namespace)+"/"+s.me.set, mergePatch, none)
		for number := range placementPool {
			s.try(s.root, http.MethodPatch, fmt.Sprintf("%s/p-%d", placements(namespace), number), mergePatch, none)
		}
	}
	for number := range clusterPool {
		s.try(s.root, http.MethodPatch, clusters+"/"+s.me.cluster(number), mergePatch, none)
	}
}

// restart ends the manager, lets users write while it is down, and starts it again.
func restart(s *step) {
	s.down = true
	if s.random.IntN(2) == 0 {
		s.manager.Kill()
	} else {
		s.manager.Stop()
		s.manager.Inspect(s.t)
	}
	s.try(s.me.editor, http.MethodDelete, bindings(s.namespace())+"/"+s.me.set, plainJSON, "")
	s.try(s.root, http.MethodDelete, clusters+"/"+s.cluster(s.me), plainJSON, "")
	s.illegal(s.me.binder, http.MethodPost, bindings(s.namespace()), plainJSON, text(newBinding(s.other.set)))
	s.touched = append(s.touched, "bindings", "clusters")
	s.manager = s.launch()
	s.awaitGuard()
}
