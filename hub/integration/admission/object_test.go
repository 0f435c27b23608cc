package admission

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-project/berth/hub/hubtest/kit"
)

// The names of objects that are stored before any manager runs, so that no webhook has checked them.
const (
	oldCluster   = "old.cluster"
	oldSet       = "old-set"
	oldPlacement = "old-placement"
)

// createUncheckedObjects creates objects that admission would deny.
func createUncheckedObjects(t *testing.T) {
	t.Helper()
	administrator := admin(t)
	for _, object := range []map[string]any{
		cluster(oldCluster, taints("gpu:NoSelect", "gpu:NoSelect")),
		set(oldSet, labelSelector("a b", "c")),
		placement("default", oldPlacement, map[string]any{"predicates": cel("1")}),
	} {
		kit.NoError(t, administrator.create(t.Context(), object))
	}
}

func labelSelector(key, value string) map[string]any {
	return map[string]any{"selectorType": "LabelSelector", "labelSelector": map[string]any{"matchLabels": map[string]any{key: value}}}
}

func exclusive(key, value string) map[string]any {
	return map[string]any{"selectorType": "ExclusiveLabel", "exclusiveLabel": map[string]any{"key": key, "value": value}}
}

func lacksBind(caller *user, name string) string {
	return bindDenied(caller, "bind", name)
}

func TestBind(t *testing.T) {
	requireWebhooks(t)
	namespace := shared.Namespace(t)
	dev, prod := "dev-"+unique(), "prod-"+unique()
	jane := newUser(t, "jane", []rule{allVerbsOn("managedclustersetbindings"), grantNamed("create", "managedclustersets/bind", dev)})
	outsider := newUser(t, "outsider", []rule{allVerbsOn("managedclustersetbindings"), grantNamed("create", "managedclustersets/join", dev)})
	mine := binding(namespace, dev, dev)
	check(t, outsider.create(t.Context(), mine), 403, lacksBind(outsider, dev))
	check(t, outsider.apply(t.Context(), mine), 403, lacksBind(outsider, dev))
	check(t, jane.create(t.Context(), mine), 0, "")
	check(t, jane.create(t.Context(), binding(namespace, prod, prod)), 403, lacksBind(jane, prod))

	// A binding cannot be changed to a set that the user may not bind, by any verb.
	turn := func(o *unstructured.Unstructured) {
		_ = unstructured.SetNestedField(o.Object, prod, "spec", "clusterSet")
	}
	misnamed := func(name, of string) string {
		return denied("names.managedclustersetbindings", `ManagedClusterSetBinding.cluster.open-cluster-management.io "%s" is invalid: `+
			`spec.clusterSet: Invalid value: "%s": must be the same as metadata.name`, name, of)
	}
	check(t, jane.create(t.Context(), binding(namespace, prod, dev)), 400, misnamed(prod, dev))
	for how, err := range map[string]error{
		"update": jane.update(t, mine, "", turn),
		"apply":  jane.apply(t.Context(), with(mine, turn)),
		"patch": func() error {
			_, err := jane.resourceFor(mine).Patch(t.Context(), dev, types.JSONPatchType,
				[]byte(`[{"op":"replace","path":"/spec/clusterSet","value":"`+prod+`"}]`), metav1.PatchOptions{})
			return err
		}(),
	} {
		t.Run(how, func(t *testing.T) { check(t, err, 400, misnamed(dev, prod)) })
	}
	// The name itself cannot change: a binding with another name is another binding.
	stored := jane.stored(t, mine)
	stored.SetName(prod)
	_, err := jane.resourceFor(mine).Update(t.Context(), stored, metav1.UpdateOptions{})
	if err == nil {
		t.Error("a binding was renamed")
	}
	// Labels of a binding need no permission, also after its creator has lost the permission to bind.
	check(t, outsider.update(t, mine, "", func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{"a": "b"}) }), 0, "")
}

func TestSets(t *testing.T) {
	requireWebhooks(t)
	administrator := admin(t)
	const region = "info.open-cluster-management.io/region"
	first, second := "first-"+unique(), "second-"+unique()
	administrator.mustCreate(t, set(first, exclusive(region, first)))
	invalid := func(name, why string) string {
		return denied("managedclustersets", `ManagedClusterSet.cluster.open-cluster-management.io "%s" is invalid: spec.clusterSelector%s`, name,
			why)
	}
	taken := `.exclusiveLabel: Invalid value: "` + region + "=" + first + `": the set "` + first +
		`" claims this label already; only one set may claim a label`
	check(t, administrator.create(t.Context(), set(second, exclusive(region, first))), 422, invalid(second, taken))
	check(t, administrator.create(t.Context(), set(second, exclusive(setLabel, second))), 0, "")
	check(t, administrator.update(t, set(second, nil), "", func(o *unstructured.Unstructured) {
		_ = unstructured.SetNestedMap(o.Object, exclusive(region, first), "spec", "clusterSelector")
	}), 422, invalid(second, taken))

	// The older version of the kind is checked too.
	third := "third-" + unique()
	old := set(third, exclusive(region, first))
	old["apiVersion"] = group + "/v1beta1"
	check(t, administrator.create(t.Context(), old), 422, invalid(third, taken))

	wrong := `ManagedClusterSet.cluster.open-cluster-management.io "` + third +
		`" is invalid: spec.clusterSelector.labelSelector.matchLabels[a b]: Invalid value: "c": `
	if err := administrator.create(t.Context(), set(third, labelSelector("a b", "c"))); err == nil || !strings.Contains(err.Error(), wrong) {
		t.Errorf("Create = %v, want %q", err, wrong)
	}
	administrator.takeWarnings()
	administrator.mustCreate(t, set(third, map[string]any{"selectorType": "LabelSelector", "labelSelector": map[string]any{}}))
	if diff := cmp.Diff([]string{"spec.clusterSelector.labelSelector is empty, so that every cluster of the hub is a member"},
		administrator.takeWarnings()); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	// An old error may remain, and no other error may be added.
	namespaces := func(o *unstructured.Unstructured) {
		_ = unstructured.SetNestedSlice(o.Object, []any{map[string]any{"name": "x"}}, "spec", "managedNamespaces")
	}
	check(t, administrator.update(t, set(oldSet, nil), "", namespaces), 0, "")
	if err := administrator.update(t, set(oldSet, nil), "", func(o *unstructured.Unstructured) {
		_ = unstructured.SetNestedField(o.Object, "x", "spec", "clusterSelector", "labelSelector", "matchLabels", "d e")
	}); err == nil || !strings.Contains(err.Error(), "matchLabels[d e]") || strings.Contains(err.Error(), "matchLabels[a b]") {
		t.Errorf("Update = %v, want only the new fault", err)
	}
}

func TestPlacements(t *testing.T) {
	requireWebhooks(t)
	administrator, namespace := admin(t), shared.Namespace(t)
	check(t, administrator.create(t.Context(), placement(namespace, "bad", map[string]any{"predicates": cel("1 + 1")})), 422,
		denied("placements",
			`Placement.cluster.open-cluster-management.io "bad" is invalid: spec.predicates[0].requiredClusterSelector.celSelector.celExpressions[0]: `+
				`Invalid value: "1 + 1": compilation failed: the expression yields int, want bool`))
	good := placement(namespace, "good", map[string]any{"clusterSets": []any{"dev"}})
	administrator.takeWarnings()
	administrator.mustCreate(t, good)
	unbound := `spec.clusterSets[0]: the cluster set "dev" is not bound to the namespace "` + namespace + `", so it adds no clusters`
	if diff := cmp.Diff([]string{unbound}, administrator.takeWarnings()); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	// A binding that was created just before counts.
	administrator.mustCreate(t, binding(namespace, "dev", "dev"))
	administrator.takeWarnings()
	administrator.mustCreate(t, placement(namespace, "bound", map[string]any{"clusterSets": []any{"dev"}}))
	if diff := cmp.Diff([]string(nil), administrator.takeWarnings()); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	none := []any{map[string]any{"requiredClusterSelector": map[string]any{"claimSelector": map[string]any{"matchExpressions": []any{
		map[string]any{"key": "a", "operator": "Exists"}, map[string]any{"key": "a", "operator": "DoesNotExist"},
	}}}}}
	administrator.mustCreate(t, placement(namespace, "none", map[string]any{"predicates": none}))
	if diff := cmp.Diff([]string{"spec.predicates[0] matches no cluster, since no cluster can meet both claim a exists " +
		"and claim a does not exist"}, administrator.takeWarnings()); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	old := placement("default", oldPlacement, nil)
	number := func(o *unstructured.Unstructured) {
		_ = unstructured.SetNestedField(o.Object, int64(3), "spec", "numberOfClusters")
	}
	check(t, administrator.update(t, old, "", number), 0, "")
	check(t, administrator.update(t, old, "", func(o *unstructured.Unstructured) {
		_ = unstructured.SetNestedSlice(o.Object, cel("2"), "spec", "predicates")
	}), 422,
		denied("placements",
			`Placement.cluster.open-cluster-management.io "%s" is invalid: spec.predicates[0].requiredClusterSelector.celSelector.celExpressions[0]: `+
				`Invalid value: "2": compilation failed: the expression yields int, want bool`, oldPlacement))
}
