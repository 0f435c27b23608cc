package attack

import (
	"fmt"
	"net/http"
)

// finalized returns the binding to a set. It may have a finalizer, which delays its deletion.
func (s *step) binding(set string) object {
	out := newBinding(set)
	switch s.random.IntN(3) {
	case 0:
		out.withMetadata(object{"finalizers": []string{"example.com/hold"}})
	case 1:
		out.withMetadata(object{"labels": object{"team": "x"}, "annotations": object{"a": "b"}})
	}
	return out
}

func bindSet(s *step) {
	caller, namespace := pick(s, s.tenant.binder, s.tenant.admin), s.namespace()
	if s.random.IntN(4) == 0 {
		s.request(caller, http.MethodPatch, bindings(namespace)+"/"+s.tenant.set+"?fieldManager=attack", applyPatch,
			toJSON(newBinding(s.tenant.set)))
		return
	}
	s.request(caller, http.MethodPost, bindings(namespace), plainJSON, toJSON(s.binding(s.tenant.set)))
}

func unbindSet(s *step) {
	if s.random.IntN(6) == 0 {
		s.request(s.user(), http.MethodDelete, bindings(s.namespace()), plainJSON, "")
		return
	}
	s.request(s.user(), http.MethodDelete, bindings(s.namespace())+"/"+s.tenant.set+"?propagationPolicy="+pick(s, "Background", "Foreground"),
		plainJSON, "")
}

func bindOthers(s *step) {
	caller, namespace := s.user(), s.namespace()
	set := pick(s, s.otherTenant.set, "global", "default", "sentinel", "nowhere")
	path := bindings(namespace)
	s.requestForbidden(caller, http.MethodPost, path, plainJSON, toJSON(s.binding(set)))
	s.requestForbidden(caller, http.MethodPost, path, plainJSON, toJSON(newBinding(set).withMetadata(object{"name": s.tenant.set})))
	s.requestForbidden(caller, http.MethodPost, path, plainJSON, toJSON(newBinding(s.tenant.set).withMetadata(object{"name": set})))
	s.requestForbidden(caller, http.MethodPatch, path+"/"+set+"?fieldManager=attack", applyPatch, toJSON(newBinding(set)))
	s.requestForbidden(caller, http.MethodPatch, path+"/"+s.tenant.set, mergePatch, toJSON(object{"spec": object{"clusterSet": set}}))
	s.requestForbidden(caller, http.MethodPut, path+"/"+s.tenant.set, plainJSON,
		toJSON(newBinding(s.tenant.set).with("spec", object{"clusterSet": set})))
	s.requestForbidden(caller, http.MethodPost, bindings(pick(s, s.otherTenant.namespaces...)), plainJSON, toJSON(newBinding(s.tenant.set)))
	s.requestForbidden(s.tenant.editor, http.MethodPost, path, plainJSON, toJSON(newBinding(s.otherTenant.set).withMetadata(object{
		"labels": object{pick(s, "berth-project.io", group) + "/binding-made-by": "grant"},
	})))
	s.requestForbidden(caller, http.MethodDelete, bindings(pick(s, s.otherTenant.namespaces...))+"/"+s.otherTenant.set, plainJSON, "")
}

func registerCluster(s *step) {
	registered := newCluster(s.cluster(s.tenant), object{group + "/clusterset": s.tenant.set, "size": pick(s, "s", "m")})
	switch s.random.IntN(6) {
	case 0:
		registered.withMetadata(object{"finalizers": []string{"example.com/hold"}})
	case 1:
		registered.withMetadata(object{"labels": nil}) // the cluster is then in no set
	}
	s.request(s.tenant.admin, http.MethodPost, clusters, plainJSON, toJSON(registered))
}

func registerWrongly(s *step) {
	name := s.cluster(s.tenant) + "-wrong"
	mine := object{group + "/clusterset": s.tenant.set}
	for _, wrong := range []object{
		newCluster(name, object{group + "/clusterset": s.otherTenant.set}),
		newCluster(name, object{group + "/clusterset": "default"}),
		newCluster(name, mine).with("spec", object{"hubAcceptsClient": true}),
		newCluster(name, mine).with("spec", object{"taints": []object{{"key": group + "/unavailable", "effect": "NoSelect"}}}),
		newCluster(name, mine).withMetadata(object{"labels": object{
			group + "/clusterset":                    s.tenant.set,
			"info.open-cluster-management.io/vendor": "x",
		}}),
		newCluster("a.b", mine),
		newCluster(name, mine).with("spec", object{"managedClusterClientConfigs": []object{{"url": "http://" + name}}}),
	} {
		s.requestForbidden(s.tenant.admin, http.MethodPost, clusters, plainJSON, toJSON(wrong))
	}
	s.requestForbidden(pick(s, s.tenant.editor, s.tenant.binder), http.MethodPost, clusters, plainJSON, toJSON(newCluster(name, mine)))
}

// changeOwnCluster changes a cluster as the admin of its set, within and beyond the permissions.
func changeOwnCluster(s *step) {
	path := clusters + "/" + s.cluster(s.tenant)
	switch s.random.IntN(5) {
	case 0:
		s.request(s.tenant.admin, http.MethodDelete, path, plainJSON, "")
	case 1:
		s.request(s.tenant.admin, http.MethodPatch, path, mergePatch,
			toJSON(object{"spec": object{"taints": []object{{"key": "gpu", "effect": pick(s, "NoSelect", "PreferNoSelect", "NoSelectIfNew")}}}}))
	case 2:
		s.request(s.tenant.admin, http.MethodPatch, path, mergePatch, `{"spec":{"taints":null}}`)
	default:
		s.request(s.tenant.admin, http.MethodPatch, path, mergePatch,
			toJSON(object{"metadata": object{"labels": object{"size": pick[any](s, "s", "m", nil)}}}))
	}
	s.requestForbidden(s.tenant.admin, http.MethodPatch, path, mergePatch,
		toJSON(object{"metadata": object{"labels": object{group + "/clusterset": s.otherTenant.set}}}))
	s.requestForbidden(s.tenant.admin, http.MethodPatch, path, mergePatch,
		toJSON(object{"metadata": object{"labels": object{"info.open-cluster-management.io/vendor": "x"}}}))
	s.requestForbidden(s.tenant.admin, http.MethodPatch, path, mergePatch,
		toJSON(object{"spec": object{"taints": []object{{"key": group + "/unreachable", "value": "attack", "effect": "NoSelect"}}}}))
	many := object{}
	for number := range 2000 {
		many[fmt.Sprintf("label-%d", number)] = "x"
	}
	s.requestForbidden(s.tenant.admin, http.MethodPatch, path, mergePatch, toJSON(object{"metadata": object{"labels": many}}))
}

func changeOthersCluster(s *step) {
	path := clusters + "/" + s.cluster(s.otherTenant)
	caller := s.user()
	s.requestForbidden(caller, http.MethodGet, path, plainJSON, "")
	s.requestForbidden(caller, http.MethodDelete, path, plainJSON, "")
	s.requestForbidden(caller, http.MethodDelete, clusters, plainJSON, "")
	s.requestForbidden(caller, http.MethodPatch, path, mergePatch,
		toJSON(object{"metadata": object{"labels": object{group + "/clusterset": s.tenant.set}}}))
	s.requestForbidden(caller, http.MethodPatch, path, mergePatch,
		toJSON(object{"spec": object{"taints": []object{{"key": "gpu", "effect": "NoSelect"}}}}))
	s.requestForbidden(caller, http.MethodPatch, path+"?fieldManager=attack&force=true", applyPatch,
		toJSON(newCluster(s.cluster(s.otherTenant), object{"size": "l"})))
	s.requestForbidden(caller, http.MethodPost, scores(s.cluster(s.otherTenant)), plainJSON,
		toJSON(newObject("AddOnPlacementScore", "v1alpha1", "load")))
}

func writeSet(s *step) {
	all := object{"clusterSelector": object{"selectorType": "LabelSelector", "labelSelector": object{}}}
	s.requestForbidden(s.tenant.admin, http.MethodPost, sets, plainJSON,
		toJSON(newObject("ManagedClusterSet", "v1beta2", s.tenant.set+"-more").with("spec", all)))
	for _, set := range []string{s.tenant.set, s.otherTenant.set, "global"} {
		s.requestForbidden(s.tenant.admin, http.MethodPatch, sets+"/"+set, mergePatch, toJSON(object{"spec": all}))
		s.requestForbidden(s.tenant.admin, http.MethodDelete, sets+"/"+set, plainJSON, "")
	}
}
