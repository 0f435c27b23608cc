package attack

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
)

const disabled = group + "/experimental-scheduling-disable"

// storePlacement creates a placement, or changes the one that is there, in one of the ways that clients have.
func (s *step) storePlacement(who *actor, namespace, name string, spec any) {
	s.t.Helper()
	path, content := placements(namespace)+"/"+name, newPlacement(name, spec)
	switch s.random.IntN(4) {
	case 0:
		s.try(who, http.MethodPatch, path+"?fieldManager=attack&force=true", applyPatch, text(content))
	case 1:
		s.try(who, http.MethodPatch, path, mergePatch, text(object{"spec": spec}))
	case 2:
		s.try(who, http.MethodPatch, path, jsonPatch, text([]object{{"op": "replace", "path": "/spec", "value": spec}}))
	default:
		s.try(who, http.MethodPost, placements(namespace), plainJSON, text(content))
	}
}

func writePlacement(s *step) {
	s.storePlacement(s.person(), s.namespace(), s.placement(), s.spec())
}

func writeWrongPlacement(s *step) {
	path := placements(s.namespace())
	s.illegal(s.person(), http.MethodPost, path, plainJSON, text(newPlacement("wrong", one(s, refusedSpecs()...))))
	s.illegal(s.person(), http.MethodPost, path, plainJSON, text(newPlacement(strings.Repeat("n", 64), object{})))
	s.illegal(s.person(), http.MethodPost, path, plainJSON, `{"apiVersion":"`+group+`/v1beta1","kind":"Placement","metadata":{`)
	s.illegal(s.person(), http.MethodPost, placements(one(s, s.other.namespaces...)), plainJSON, text(newPlacement(s.placement(), object{})))
}

func writeBomb(s *step) {
	spec := object{"predicates": []object{{"requiredClusterSelector": cel(s.bomb()...)}}}
	if s.random.IntN(2) == 0 {
		spec = object{"tiers": []object{{"name": "bomb", "clusterSelector": cel(s.bomb()...)}}}
	}
	s.storePlacement(s.person(), s.namespace(), s.placement(), spec)
}

func deletePlacement(s *step) {
	policy := one(s, "Background", "Foreground", "Orphan")
	if s.random.IntN(6) == 0 {
		s.try(s.person(), http.MethodDelete, placements(s.namespace())+"?propagationPolicy="+policy, plainJSON, "")
		return
	}
	s.try(s.person(), http.MethodDelete, placements(s.namespace())+"/"+s.placement()+"?propagationPolicy="+policy, plainJSON, "")
}

func disablePlacement(s *step) {
	value := one[any](s, "true", "true", "false", nil, strings.Repeat("x", 1000))
	s.try(s.person(), http.MethodPatch, placements(s.namespace())+"/"+s.placement(), mergePatch,
		text(object{"metadata": object{"annotations": object{disabled: value}}}))
}

func holdPlacement(s *step) {
	path := placements(s.namespace()) + "/" + s.placement()
	s.try(s.person(), http.MethodPatch, path, mergePatch, text(object{"metadata": object{"finalizers": one[any](s, []string{"example.com/hold"}, nil)}}))
	if s.random.IntN(2) == 0 {
		s.try(s.person(), http.MethodDelete, path, plainJSON, "")
	}
}

func writeHuge(s *step) {
	namespace := s.namespace()
	huge := newPlacement(s.placement(), object{}).having(object{"annotations": object{"example.com/notes": strings.Repeat("x", 300_000)}})
	s.illegal(s.person(), http.MethodPost, placements(namespace), plainJSON, text(huge)) // beyond what annotations may hold
	names := make([]string, 1000)
	for i := range names {
		names[i] = fmt.Sprintf("%s-%0200d", s.other.set, i)
	}
	s.try(s.person(), http.MethodPost, placements(namespace), plainJSON, text(newPlacement(s.placement(), object{"predicates": []object{
		{"requiredClusterSelector": object{"clusterNames": names}},
	}})))
	s.illegal(s.person(), http.MethodPost, placements(namespace), plainJSON, `{"metadata":{"name":"huge"},"spec":`+strings.Repeat("[", 5_000_000))
}

func writeStatus(s *step) {
	namespace, name := s.namespace(), s.placement()
	status := text(object{"status": object{"numberOfSelectedClusters": 7, "conditions": []object{}}})
	s.illegal(s.person(), http.MethodPatch, placements(namespace)+"/"+name+"/status", mergePatch, status)
	s.illegal(s.person(), http.MethodPatch, bindings(namespace)+"/"+s.me.set+"/status", mergePatch, `{"status":{"conditions":[]}}`)
	s.illegal(s.person(), http.MethodPatch, clusters+"/"+s.cluster(s.me)+"/status", mergePatch, condition("True"))
	s.illegal(s.person(), http.MethodPatch, sets+"/"+s.me.set+"/status", mergePatch, `{"status":{"conditions":[]}}`)
	// The status that comes with an object is not stored.
	s.try(s.person(), http.MethodPatch, placements(namespace)+"/"+name, mergePatch, status)
}

// sliceOf returns a slice that names a cluster.
func sliceOf(name, placement, cluster string) object {
	return built("PlacementDecision", "v1beta1", name).having(object{"labels": object{
		group + "/placement": placement, group + "/decision-group-index": "0", group + "/decision-group-name": "",
	}}).with("status", object{"decisions": []object{{"clusterName": cluster, "reason": ""}}})
}

func writeSlice(s *step) {
	namespace, placement := one(s, append(s.other.namespaces, s.me.namespaces...)...), s.placement()
	path := decisions(namespace) + "/" + placement + "-decision-1"
	who := s.person()
	s.illegal(who, http.MethodPost, decisions(namespace), plainJSON, text(sliceOf(placement+"-decision-9", placement, s.cluster(s.other))))
	s.illegal(who, http.MethodPatch, path+"/status", mergePatch, text(object{"status": object{"decisions": []object{{"clusterName": s.cluster(s.other), "reason": ""}}}}))
	s.illegal(who, http.MethodPatch, path, mergePatch, `{"metadata":{"labels":null,"annotations":null,"ownerReferences":null}}`)
	s.illegal(who, http.MethodDelete, path, plainJSON, "")
	s.illegal(who, http.MethodDelete, decisions(namespace), plainJSON, "")
}

// race lets the tenant's people write the same objects at the same time.
func race(s *step) {
	namespace, name := s.namespace(), s.placement()
	spec := s.spec()
	type request struct {
		who                      *actor
		method, path, kind, body string
	}
	var together sync.WaitGroup
	replies := make([]string, 0, 12)
	var mu sync.Mutex
	for _, r := range []request{
		{s.me.editor, http.MethodPost, placements(namespace), plainJSON, text(newPlacement(name, spec))},
		{s.me.binder, http.MethodPatch, placements(namespace) + "/" + name, mergePatch, `{"spec":{"numberOfClusters":1}}`},
		{s.me.admin, http.MethodPatch, placements(namespace) + "/" + name, mergePatch, `{"spec":{"numberOfClusters":3}}`},
		{s.me.binder, http.MethodDelete, bindings(namespace) + "/" + s.me.set, plainJSON, ""},
		{s.me.admin, http.MethodPost, bindings(namespace), plainJSON, text(newBinding(s.me.set))},
		{s.me.editor, http.MethodDelete, placements(namespace) + "/" + name, plainJSON, ""},
		{s.me.editor, http.MethodPost, placements(namespace), plainJSON, text(newPlacement(name, object{}))},
		{s.root, http.MethodPatch, clusters + "/" + s.cluster(s.me), mergePatch, `{"metadata":{"labels":{"size":"m"}}}`},
		{s.root, http.MethodPatch, clusters + "/" + s.cluster(s.me), mergePatch, `{"metadata":{"labels":{"size":"s"}}}`},
	} {
		together.Go(func() {
			got, err := r.who.send(s.t.Context(), r.method, r.path, r.kind, r.body)
			mu.Lock()
			defer mu.Unlock()
			replies = append(replies, fmt.Sprintf("%s %s -> %d %s %v", r.method, r.path, got.code, got.message, err))
			if err != nil || got.code >= http.StatusInternalServerError {
				s.t.Errorf("the hub failed: %s", replies[len(replies)-1])
			}
		})
	}
	together.Wait()
	s.say("  at the same time: %s", strings.Join(replies, "; "))
	s.touched = append(s.touched, "bindings", "clusters")
}

func takeRight(s *step) {
	who, namespace := s.person(), s.namespace()
	subject := []object{{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": who.name}}
	role := func(name string) object {
		return object{
			"metadata": object{"name": "taken"}, "subjects": subject,
			"roleRef": object{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
		}
	}
	s.illegal(who, http.MethodPost, roleBindings(namespace), plainJSON, text(role("cluster-admin")))
	s.illegal(who, http.MethodPost, clusterRoleBindings, plainJSON, text(role("berth:managedclusterset:admin:"+s.other.set)))
	s.illegal(who, http.MethodPost, clusterRoles, plainJSON, text(object{"metadata": object{"name": "berth:managedclusterset:binder:" + s.other.set}}))
	s.illegal(who, http.MethodPatch, clusterRoles+"/berth:managedclusterset:binder:"+s.me.set, mergePatch, text(object{"rules": []object{
		{"apiGroups": []string{"*"}, "resources": []string{"*"}, "verbs": []string{"*"}},
	}}))
	s.illegal(who, http.MethodGet, placements(s.other.namespaces[0]), plainJSON, "", "Impersonate-User", s.other.editor.name)
	s.illegal(who, http.MethodGet, clusters, plainJSON, "", "Impersonate-User", "berth-admin", "Impersonate-Group", "system:masters")
	// An account called placement is bound what it is granted, and nothing is granted to this one.
	s.try(who, http.MethodPost, "/api/v1/namespaces/"+namespace+"/serviceaccounts", plainJSON, `{"metadata":{"name":"placement"}}`)
	s.illegal(who, http.MethodDelete, namespaces+"/"+namespace, plainJSON, "")
	s.illegal(who, http.MethodPatch, namespaces+"/"+namespace, mergePatch, `{"metadata":{"labels":{"a":"b"}}}`)
}

func askWho(s *step) {
	s.try(s.person(), http.MethodPost, "/apis/authentication.k8s.io/v1/selfsubjectreviews", plainJSON, `{}`)
	s.try(s.person(), http.MethodPost, "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", plainJSON, text(object{"spec": object{"namespace": s.other.namespaces[0]}}))
	for range 20 {
		s.try(s.person(), http.MethodPost, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", plainJSON, text(object{"spec": object{
			"resourceAttributes": object{"verb": "create", "group": group, "resource": "managedclustersets", "subresource": "bind", "name": one(s, s.me.set, s.other.set, "*", "")},
		}}))
	}
	s.illegal(s.anonymous(), http.MethodGet, placements(s.namespace()), plainJSON, "")
}

func readOthers(s *step) {
	namespace := one(s, s.other.namespaces...)
	for _, path := range []string{
		placements(namespace), placements(namespace) + "/steady", decisions(namespace), bindings(namespace), sets, sets + "/" + s.other.set, clusters,
		clusters + "/" + s.cluster(s.other), "/apis/" + group + "/v1beta1/placements", clusterRoles,
		"/api/v1/namespaces/berth-system/secrets", "/metrics", scores(s.cluster(s.other)), "/apis/" + group + "/v1beta1/placements?watch=true",
	} {
		s.illegal(s.me.editor, http.MethodGet, path, plainJSON, "")
	}
}
