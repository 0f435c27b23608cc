package attack

import (
	"fmt"
	"net/http"
)

// finalized returns the binding to a set, which may stay when it is deleted.
func (s *step) binding(set string) object {
	out := newBinding(set)
	switch s.random.IntN(3) {
	case 0:
		out.having(object{"finalizers": []string{"example.com/hold"}})
	case 1:
		out.having(object{"labels": object{"team": "x"}, "annotations": object{"a": "b"}})
	}
	return out
}

func bindSet(s *step) {
	who, namespace := one(s, s.me.binder, s.me.admin), s.namespace()
	if s.random.IntN(4) == 0 {
		s.try(who, http.MethodPatch, bindings(namespace)+"/"+s.me.set+"?fieldManager=attack", applyPatch, text(newBinding(s.me.set)))
		return
	}
	s.try(who, http.MethodPost, bindings(namespace), plainJSON, text(s.binding(s.me.set)))
}

func unbindSet(s *step) {
	if s.random.IntN(6) == 0 {
		s.try(s.person(), http.MethodDelete, bindings(s.namespace()), plainJSON, "")
		return
	}
	s.try(s.person(), http.MethodDelete, bindings(s.namespace())+"/"+s.me.set+"?propagationPolicy="+one(s, "Background", "Foreground"), plainJSON, "")
}

func bindOthers(s *step) {
	who, namespace := s.person(), s.namespace()
	set := one(s, s.other.set, "global", "default", "sentinel", "nowhere")
	path := bindings(namespace)
	s.illegal(who, http.MethodPost, path, plainJSON, text(s.binding(set)))
	s.illegal(who, http.MethodPost, path, plainJSON, text(newBinding(set).having(object{"name": s.me.set})))
	s.illegal(who, http.MethodPost, path, plainJSON, text(newBinding(s.me.set).having(object{"name": set})))
	s.illegal(who, http.MethodPatch, path+"/"+set+"?fieldManager=attack", applyPatch, text(newBinding(set)))
	s.illegal(who, http.MethodPatch, path+"/"+s.me.set, mergePatch, text(object{"spec": object{"clusterSet": set}}))
	s.illegal(who, http.MethodPut, path+"/"+s.me.set, plainJSON, text(newBinding(s.me.set).with("spec", object{"clusterSet": set})))
	s.illegal(who, http.MethodPost, bindings(one(s, s.other.namespaces...)), plainJSON, text(newBinding(s.me.set)))
	s.illegal(s.me.editor, http.MethodPost, path, plainJSON, text(newBinding(s.other.set).having(object{
		"labels": object{group + "/binding-made-by": "grant"},
	})))
	s.illegal(who, http.MethodDelete, bindings(one(s, s.other.namespaces...))+"/"+s.other.set, plainJSON, "")
}

func registerCluster(s *step) {
	registered := newCluster(s.cluster(s.me), object{group + "/clusterset": s.me.set, "size": one(s, "s", "m")})
	switch s.random.IntN(6) {
	case 0:
		registered.having(object{"finalizers": []string{"example.com/hold"}})
	case 1:
		registered.having(object{"labels": nil}) // it is in no set then
	}
	s.try(s.me.admin, http.MethodPost, clusters, plainJSON, text(registered))
}

func registerWrongly(s *step) {
	name := s.cluster(s.me) + "-wrong"
	mine := object{group + "/clusterset": s.me.set}
	for _, wrong := range []object{
		newCluster(name, object{group + "/clusterset": s.other.set}),
		newCluster(name, object{group + "/clusterset": "default"}),
		newCluster(name, mine).with("spec", object{"hubAcceptsClient": true}),
		newCluster(name, mine).with("spec", object{"taints": []object{{"key": group + "/unavailable", "effect": "NoSelect"}}}),
		newCluster(name, mine).having(object{"labels": object{group + "/clusterset": s.me.set, "info.open-cluster-management.io/vendor": "x"}}),
		newCluster("a.b", mine),
		newCluster(name, mine).with("spec", object{"managedClusterClientConfigs": []object{{"url": "http://" + name}}}),
	} {
		s.illegal(s.me.admin, http.MethodPost, clusters, plainJSON, text(wrong))
	}
	s.illegal(one(s, s.me.editor, s.me.binder), http.MethodPost, clusters, plainJSON, text(newCluster(name, mine)))
}

// changeOwnCluster is what a set's admin may do to the clusters of the set.
func changeOwnCluster(s *step) {
	path := clusters + "/" + s.cluster(s.me)
	switch s.random.IntN(5) {
	case 0:
		s.try(s.me.admin, http.MethodDelete, path, plainJSON, "")
	case 1:
		s.try(s.me.admin, http.MethodPatch, path, mergePatch, text(object{"spec": object{"taints": []object{{"key": "gpu", "effect": one(s, "NoSelect", "PreferNoSelect", "NoSelectIfNew")}}}}))
	case 2:
		s.try(s.me.admin, http.MethodPatch, path, mergePatch, `{"spec":{"taints":null}}`)
	default:
		s.try(s.me.admin, http.MethodPatch, path, mergePatch, text(object{"metadata": object{"labels": object{"size": one[any](s, "s", "m", nil)}}}))
	}
	s.illegal(s.me.admin, http.MethodPatch, path, mergePatch, text(object{"metadata": object{"labels": object{group + "/clusterset": s.other.set}}}))
	s.illegal(s.me.admin, http.MethodPatch, path, mergePatch, text(object{"metadata": object{"labels": object{"info.open-cluster-management.io/vendor": "x"}}}))
	s.illegal(s.me.admin, http.MethodPatch, path, mergePatch, text(object{"spec": object{"taints": []object{{"key": group + "/unreachable", "value": "attack", "effect": "NoSelect"}}}}))
	many := object{}
	for number := range 2000 {
		many[fmt.Sprintf("label-%d", number)] = "x"
	}
	s.illegal(s.me.admin, http.MethodPatch, path, mergePatch, text(object{"metadata": object{"labels": many}}))
}

func changeOthersCluster(s *step) {
	path := clusters + "/" + s.cluster(s.other)
	who := s.person()
	s.illegal(who, http.MethodGet, path, plainJSON, "")
	s.illegal(who, http.MethodDelete, path, plainJSON, "")
	s.illegal(who, http.MethodDelete, clusters, plainJSON, "")
	s.illegal(who, http.MethodPatch, path, mergePatch, text(object{"metadata": object{"labels": object{group + "/clusterset": s.me.set}}}))
	s.illegal(who, http.MethodPatch, path, mergePatch, text(object{"spec": object{"taints": []object{{"key": "gpu", "effect": "NoSelect"}}}}))
	s.illegal(who, http.MethodPatch, path+"?fieldManager=attack&force=true", applyPatch, text(newCluster(s.cluster(s.other), object{"size": "l"})))
	s.illegal(who, http.MethodPost, scores(s.cluster(s.other)), plainJSON, text(built("AddOnPlacementScore", "v1alpha1", "load")))
}

func writeSet(s *step) {
	all := object{"clusterSelector": object{"selectorType": "LabelSelector", "labelSelector": object{}}}
	s.illegal(s.me.admin, http.MethodPost, sets, plainJSON, text(built("ManagedClusterSet", "v1beta2", s.me.set+"-more").with("spec", all)))
	for _, set := range []string{s.me.set, s.other.set, "global"} {
		s.illegal(s.me.admin, http.MethodPatch, sets+"/"+set, mergePatch, text(object{"spec": all}))
		s.illegal(s.me.admin, http.MethodDelete, sets+"/"+set, plainJSON, "")
	}
}
