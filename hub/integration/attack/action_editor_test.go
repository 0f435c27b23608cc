package attack

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
)

const disabled = group + "/experimental-scheduling-disable"

// writeAnyPlacement creates or changes a placement by a random kind of request.
func (s *step) writeAnyPlacement(caller *user, namespace, name string, spec any) {
	s.t.Helper()
	path, content := placements(namespace)+"/"+name, newPlacement(name, spec)
	switch s.random.IntN(4) {
	case 0:
		s.request(caller, http.MethodPatch, path+"?fieldManager=attack&force=true", applyPatch, toJSON(content))
	case 1:
		s.request(caller, http.MethodPatch, path, mergePatch, toJSON(object{"spec": spec}))
	case 2:
		s.request(caller, http.MethodPatch, path, jsonPatch, toJSON([]object{{"op": "replace", "path": "/spec", "value": spec}}))
	default:
		s.request(caller, http.MethodPost, placements(namespace), plainJSON, toJSON(content))
	}
}

func writePlacement(s *step) {
	s.writeAnyPlacement(s.user(), s.namespace(), s.placement(), s.spec())
}

func writeWrongPlacement(s *step) {
	path := placements(s.namespace())
	for _, spec := range refusedSpecs() {
		s.requestForbidden(s.user(), http.MethodPost, path, plainJSON, toJSON(newPlacement("wrong", spec)))
	}
	s.requestForbidden(s.user(), http.MethodPost, path, plainJSON, toJSON(newPlacement(strings.Repeat("n", 64), object{})))
	s.requestForbidden(s.user(), http.MethodPost, path, plainJSON, `{"apiVersion":"`+group+`/v1beta1","kind":"Placement","metadata":{`)
	s.requestForbidden(s.user(), http.MethodPost, placements(pick(s, s.otherTenant.namespaces...)), plainJSON,
		toJSON(newPlacement(s.placement(), object{})))
}

func writeCostlyPlacement(s *step) {
	spec := object{"predicates": []object{{"requiredClusterSelector": cel(s.costlyExpressions()...)}}}
	if s.random.IntN(2) == 0 {
		spec = object{"tiers": []object{{"name": "bomb", "clusterSelector": cel(s.costlyExpressions()...)}}}
	}
	s.writeAnyPlacement(s.user(), s.namespace(), s.placement(), spec)
}

func deletePlacement(s *step) {
	policy := pick(s, "Background", "Foreground", "Orphan")
	if s.random.IntN(6) == 0 {
		s.request(s.user(), http.MethodDelete, placements(s.namespace())+"?propagationPolicy="+policy, plainJSON, "")
		return
	}
	s.request(s.user(), http.MethodDelete, placements(s.namespace())+"/"+s.placement()+"?propagationPolicy="+policy, plainJSON, "")
}

func disablePlacement(s *step) {
	value := pick[any](s, "true", "true", "false", nil, strings.Repeat("x", 1000))
	s.request(s.user(), http.MethodPatch, placements(s.namespace())+"/"+s.placement(), mergePatch,
		toJSON(object{"metadata": object{"annotations": object{disabled: value}}}))
}

func addFinalizer(s *step) {
	path := placements(s.namespace()) + "/" + s.placement()
	s.request(s.user(), http.MethodPatch, path, mergePatch, toJSON(
		object{"metadata": object{"finalizers": pick[any](s, []string{"example.com/hold"}, nil)}}))
	if s.random.IntN(2) == 0 {
		s.request(s.user(), http.MethodDelete, path, plainJSON, "")
	}
}

func writeHuge(s *step) {
	namespace := s.namespace()
	huge := newPlacement(s.placement(), object{}).withMetadata(
		object{"annotations": object{"example.com/notes": strings.Repeat("x", 300_000)}})
	s.requestForbidden(s.user(), http.MethodPost, placements(namespace), plainJSON, toJSON(huge)) // above the size limit of annotations
	names := make([]string, 1000)
	for i := range names {
		names[i] = fmt.Sprintf("%s-%0200d", s.otherTenant.set, i)
	}
	s.request(s.user(), http.MethodPost, placements(namespace), plainJSON, toJSON(newPlacement(s.placement(), object{"predicates": []object{
		{"requiredClusterSelector": object{"clusterNames": names}},
	}})))
	s.requestForbidden(s.user(), http.MethodPost, placements(namespace), plainJSON,
		`{"metadata":{"name":"huge"},"spec":`+strings.Repeat("[", 5_000_000))
}

func writeStatus(s *step) {
	namespace, name := s.namespace(), s.placement()
	status := toJSON(object{"status": object{"numberOfSelectedClusters": 7, "conditions": []object{}}})
	s.requestForbidden(s.user(), http.MethodPatch, placements(namespace)+"/"+name+"/status", mergePatch, status)
	s.requestForbidden(s.user(), http.MethodPatch, bindings(namespace)+"/"+s.tenant.set+"/status", mergePatch, `{"status":{"conditions":[]}}`)
	s.requestForbidden(s.user(), http.MethodPatch, clusters+"/"+s.cluster(s.tenant)+"/status", mergePatch, condition("True"))
	s.requestForbidden(s.user(), http.MethodPatch, sets+"/"+s.tenant.set+"/status", mergePatch, `{"status":{"conditions":[]}}`)
	// The API server drops the status in a request to the object.
	s.request(s.user(), http.MethodPatch, placements(namespace)+"/"+name, mergePatch, status)
}

// sliceOf returns a slice with a cluster.
func sliceOf(name, placement, cluster string) object {
	return newObject("PlacementDecision", "v1beta1", name).withMetadata(object{"labels": object{
		group + "/placement": placement, group + "/decision-group-index": "0", group + "/decision-group-name": "",
	}}).with("status", object{"decisions": []object{{"clusterName": cluster, "reason": ""}}})
}

func writeSlice(s *step) {
	namespace, placement := pick(s, append(s.otherTenant.namespaces, s.tenant.namespaces...)...), s.placement()
	path := decisions(namespace) + "/" + placement + "-decision-1"
	caller := s.user()
	s.requestForbidden(caller, http.MethodPost, decisions(namespace), plainJSON,
		toJSON(sliceOf(placement+"-decision-9", placement, s.cluster(s.otherTenant))))
	s.requestForbidden(caller, http.MethodPatch, path+"/status", mergePatch,
		toJSON(object{"status": object{"decisions": []object{{"clusterName": s.cluster(s.otherTenant), "reason": ""}}}}))
	s.requestForbidden(caller, http.MethodPatch, path, mergePatch, `{"metadata":{"labels":null,"annotations":null,"ownerReferences":null}}`)
	s.requestForbidden(caller, http.MethodDelete, path, plainJSON, "")
	s.requestForbidden(caller, http.MethodDelete, decisions(namespace), plainJSON, "")
}

// writeConcurrently lets the users of a tenant write the same objects at the same time.
func writeConcurrently(s *step) {
	namespace, name := s.namespace(), s.placement()
	spec := s.spec()
	type request struct {
		caller                   *user
		method, path, kind, body string
	}
	var together sync.WaitGroup
	replies := make([]string, 0, 12)
	var mu sync.Mutex
	for _, r := range []request{
		{s.tenant.editor, http.MethodPost, placements(namespace), plainJSON, toJSON(newPlacement(name, spec))},
		{s.tenant.binder, http.MethodPatch, placements(namespace) + "/" + name, mergePatch, `{"spec":{"numberOfClusters":1}}`},
		{s.tenant.admin, http.MethodPatch, placements(namespace) + "/" + name, mergePatch, `{"spec":{"numberOfClusters":3}}`},
		{s.tenant.binder, http.MethodDelete, bindings(namespace) + "/" + s.tenant.set, plainJSON, ""},
		{s.tenant.admin, http.MethodPost, bindings(namespace), plainJSON, toJSON(newBinding(s.tenant.set))},
		{s.tenant.editor, http.MethodDelete, placements(namespace) + "/" + name, plainJSON, ""},
		{s.tenant.editor, http.MethodPost, placements(namespace), plainJSON, toJSON(newPlacement(name, object{}))},
		{s.admin, http.MethodPatch, clusters + "/" + s.cluster(s.tenant), mergePatch, `{"metadata":{"labels":{"size":"m"}}}`},
		{s.admin, http.MethodPatch, clusters + "/" + s.cluster(s.tenant), mergePatch, `{"metadata":{"labels":{"size":"s"}}}`},
	} {
		together.Go(func() {
			got, err := r.caller.send(s.t.Context(), r.method, r.path, r.kind, r.body)
			mu.Lock()
			defer mu.Unlock()
			replies = append(replies, fmt.Sprintf("%s %s -> %d %s %v", r.method, r.path, got.code, got.message, err))
			if err != nil || got.code >= http.StatusInternalServerError {
				s.t.Errorf("the hub failed: %s", replies[len(replies)-1])
			}
		})
	}
	together.Wait()
	s.logf("  at the same time: %s", strings.Join(replies, "; "))
	s.touched = append(s.touched, "bindings", "clusters")
}

func grantPermission(s *step) {
	caller, namespace := s.user(), s.namespace()
	subject := []object{{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": caller.Name()}}
	role := func(name string) object {
		return object{
			"metadata": object{"name": "taken"}, "subjects": subject,
			"roleRef": object{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
		}
	}
	s.requestForbidden(caller, http.MethodPost, roleBindings(namespace), plainJSON, toJSON(role("cluster-admin")))
	s.requestForbidden(caller, http.MethodPost, clusterRoleBindings, plainJSON,
		toJSON(role("berth:managedclusterset:admin:"+s.otherTenant.set)))
	s.requestForbidden(caller, http.MethodPost, clusterRoles, plainJSON,
		toJSON(object{"metadata": object{"name": "berth:managedclusterset:binder:" + s.otherTenant.set}}))
	s.requestForbidden(caller, http.MethodPatch, clusterRoles+"/berth:managedclusterset:binder:"+s.tenant.set, mergePatch,
		toJSON(object{"rules": []object{
			{"apiGroups": []string{"*"}, "resources": []string{"*"}, "verbs": []string{"*"}},
		}}))
	s.requestForbidden(caller, http.MethodGet, placements(s.otherTenant.namespaces[0]), plainJSON, "", "Impersonate-User",
		s.otherTenant.editor.Name())
	s.requestForbidden(caller, http.MethodGet, clusters, plainJSON, "", "Impersonate-User", "berth-admin", "Impersonate-Group",
		"system:masters")
	// The account "placement" of a namespace binds the sets that it is granted. This account is granted no set.
	s.request(caller, http.MethodPost, "/api/v1/namespaces/"+namespace+"/serviceaccounts", plainJSON, `{"metadata":{"name":"placement"}}`)
	s.requestForbidden(caller, http.MethodDelete, namespaces+"/"+namespace, plainJSON, "")
	s.requestForbidden(caller, http.MethodPatch, namespaces+"/"+namespace, mergePatch, `{"metadata":{"labels":{"a":"b"}}}`)
}

func reviewAccess(s *step) {
	s.request(s.user(), http.MethodPost, "/apis/authentication.k8s.io/v1/selfsubjectreviews", plainJSON, `{}`)
	s.request(s.user(), http.MethodPost, "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", plainJSON,
		toJSON(object{"spec": object{"namespace": s.otherTenant.namespaces[0]}}))
	for range 20 {
		s.request(s.user(), http.MethodPost, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", plainJSON, toJSON(object{"spec": object{
			"resourceAttributes": object{
				"verb": "create", "group": group, "resource": "managedclustersets", "subresource": "bind",
				"name": pick(s, s.tenant.set, s.otherTenant.set, "*", ""),
			},
		}}))
	}
	s.requestForbidden(s.anonymous(), http.MethodGet, placements(s.namespace()), plainJSON, "")
}

func readOthers(s *step) {
	namespace := pick(s, s.otherTenant.namespaces...)
	for _, path := range []string{
		placements(namespace), placements(namespace) + "/steady", decisions(namespace), bindings(namespace), sets, sets + "/" + s.otherTenant.set,
		clusters,
		clusters + "/" + s.cluster(s.otherTenant), "/apis/" + group + "/v1beta1/placements", clusterRoles,
		"/api/v1/namespaces/berth-system/secrets", "/metrics", scores(s.cluster(s.otherTenant)),
		"/apis/" + group + "/v1beta1/placements?watch=true",
	} {
		s.requestForbidden(s.tenant.editor, http.MethodGet, path, plainJSON, "")
	}
}
