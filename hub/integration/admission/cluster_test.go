package admission

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

const acceptGroup = "register.open-cluster-management.io"

func lacksAccept(caller *user, name string) string {
	return denied("managedclusters",
		`managedclusters.cluster.open-cluster-management.io "%s" is forbidden: user "%s" may not turn spec.hubAcceptsClient on: `+
			`this needs the verb "update" on "managedclusters/accept" in the API group "register.open-cluster-management.io" with the resourceName "%s"`, name, caller.name, name)
}

func TestAccept(t *testing.T) {
	requireWebhooks(t)
	administrator := admin(t)
	name := "c-" + unique()
	accepts := rule{
		APIGroups: []string{acceptGroup}, Resources: []string{"managedclusters/accept"}, Verbs: []string{"update"},
		ResourceNames: []string{name},
	}
	holder := newUser(t, "holder", []rule{allVerbsOn("managedclusters"), accepts})
	outsider := newUser(t, "outsider", []rule{allVerbsOn("managedclusters"), grantNamed("update", "managedclusters/accept", name)})
	object := cluster(name)
	check(t, outsider.create(t.Context(), with(object, accepted)), 403, lacksAccept(outsider, name))
	administrator.mustCreate(t, object)
	check(t, outsider.update(t, object, "", accepted), 403, lacksAccept(outsider, name))
	_, err := outsider.resourceFor(object).Patch(t.Context(), name, types.JSONPatchType,
		[]byte(`[{"op":"add","path":"/spec","value":{"hubAcceptsClient":true}}]`), metav1.PatchOptions{})
	check(t, err, 403, lacksAccept(outsider, name))
	check(t, outsider.apply(t.Context(), with(object, accepted)), 403, lacksAccept(outsider, name))
	check(t, holder.update(t, object, "", accepted), 0, "")
	other := cluster("c-" + unique())
	administrator.mustCreate(t, other)
	check(t, holder.update(t, other, "", accepted), 403, lacksAccept(holder, asObject(other).GetName()))
	off := func(o *unstructured.Unstructured) {
		_ = unstructured.SetNestedField(o.Object, false, "spec", "hubAcceptsClient")
	}
	check(t, outsider.update(t, object, "", func(o *unstructured.Unstructured) { o.SetAnnotations(map[string]string{"a": "b"}) }), 0, "")
	check(t, outsider.update(t, object, "", off), 0, "")

	for _, key := range []string{"berth-project.io/inventory-profile", "berth-project.io/inventory-manager"} {
		lacks := strings.Replace(lacksAccept(outsider, name), "turn spec.hubAcceptsClient on", "change the annotation "+key, 1)
		imported := func(o *unstructured.Unstructured) { o.SetAnnotations(map[string]string{key: "fleet"}) }
		bare := func(o *unstructured.Unstructured) { o.SetAnnotations(nil) }
		check(t, outsider.update(t, object, "", imported), 403, lacks)
		check(t, holder.update(t, object, "", imported), 0, "")
		check(t, outsider.update(t, object, "", bare), 403, lacks)
		check(t, holder.update(t, object, "", bare), 0, "")
	}
}

func TestAcceptWaitsForTheNamespace(t *testing.T) {
	requireWebhooks(t)
	administrator, namespace := admin(t), shared.Namespace(t)
	core := shared.Client(t).CoreV1()
	held := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "held", Finalizers: []string{"test.berth.dev/x"}}}
	kit.Must(core.ConfigMaps(namespace).Create(t.Context(), held, metav1.CreateOptions{})).In(t)
	kit.NoError(t, core.Namespaces().Delete(t.Context(), namespace, metav1.DeleteOptions{}))
	object := cluster(namespace)
	administrator.mustCreate(t, object)
	check(t, administrator.update(t, object, "", accepted), 403, denied("managedclusters",
		`managedclusters.cluster.open-cluster-management.io "%s" is forbidden: spec.hubAcceptsClient cannot be turned on while the namespace "%s" is being deleted; try again once it is gone`,
		namespace, namespace))
	patch := []byte(`{"metadata":{"finalizers":null}}`)
	kit.Must(core.ConfigMaps(namespace).Patch(t.Context(), "held", types.MergePatchType, patch, metav1.PatchOptions{})).In(t)
	kit.Await(t, "the cluster can be accepted", func(ctx context.Context) error { return administrator.apply(ctx, with(object, accepted)) })
}

func lacksTaint(caller *user, name, doing string) string {
	return denied("managedclusters", `managedclusters.cluster.open-cluster-management.io "%s" is forbidden: user "%s" may not %s: `+
		`this needs the verb "update" on "managedclusters/taint" in the API group "cluster.open-cluster-management.io" with the resourceName "%s"`, name, caller.name, doing, name)
}

func TestTaintTimes(t *testing.T) {
	requireWebhooks(t)
	jane := newUser(t, "jane", []rule{allVerbsOn("managedclusters")})
	object := cluster("c-"+unique(), taints("gpu:NoSelect", "gpu:PreferNoSelect@2020-01-01T00:00:00Z"))
	name := asObject(object).GetName()
	began := time.Now().Truncate(time.Second)
	jane.mustCreate(t, object)
	stamped := taintTimes(jane.stored(t, object))
	for _, text := range stamped {
		if at, err := time.Parse(time.RFC3339, text); err != nil || at.Before(began) || at.After(time.Now()) {
			t.Fatalf("times = %v, want that of the creation", stamped)
		}
	}
	same := func(*unstructured.Unstructured) {}
	check(t, jane.update(t, object, "", same), 0, "") // conformance vector 18
	check(t, jane.update(t, object, "", func(o *unstructured.Unstructured) { o.SetAnnotations(map[string]string{"a": "b"}) }), 0, "")
	check(t, jane.update(t, object, "", taints("gpu:PreferNoSelect", "gpu:NoSelect")), 0, "")
	check(t, jane.apply(t.Context(), with(object, taints("gpu:NoSelect", "gpu:PreferNoSelect"))), 0, "")
	if diff := cmp.Diff(stamped, taintTimes(jane.stored(t, object))); diff != "" {
		t.Errorf("times after writes without them (-want +got):\n%s", diff)
	}
	forged := timeDenied(jane, name, "set spec.taints[0].timeAdded, of the taint gpu with effect NoSelect")
	check(t, jane.update(t, object, "", taints("gpu:NoSelect@2020-01-01T00:00:00Z", "gpu:PreferNoSelect")), 403, forged)
	check(t, jane.apply(t.Context(), with(object, taints("gpu:NoSelect@2020-01-01T00:00:00Z", "gpu:PreferNoSelect"))), 403, forged)
	keeper := newUser(t, "keeper", []rule{allVerbsOn("managedclusters"), grantNamed("update", "managedclusters/taint", name)})
	check(t, keeper.update(t, object, "", taints("gpu:NoSelect@2020-01-01T00:00:00Z")), 0, "")
	if diff := cmp.Diff([]string{"2020-01-01T00:00:00Z"}, taintTimes(jane.stored(t, object))); diff != "" {
		t.Errorf("times (-want +got):\n%s", diff)
	}
}

// timeDenied is lacksTaint for the mutating webhook.
func timeDenied(caller *user, name, doing string) string {
	return strings.Replace(lacksTaint(caller, name, doing), `webhook "managedclusters`, `webhook "default.managedclusters`, 1)
}

func TestHealthTaints(t *testing.T) {
	requireWebhooks(t)
	administrator := admin(t)
	agent := newUser(t, "agent", []rule{allVerbsOn("managedclusters")})
	object := cluster("c-" + unique())
	name := asObject(object).GetName()
	administrator.mustCreate(t, object)
	denial := func(key string) string {
		return lacksTaint(agent, name, "put on, change or take away the taint cluster.open-cluster-management.io/"+key+
			", which reports the cluster's health")
	}
	check(t, agent.update(t, object, "", taints("cluster.open-cluster-management.io/unavailable:NoSelect")), 403, denial("unavailable"))
	check(t, administrator.update(t, object, "", taints("cluster.open-cluster-management.io/unreachable:NoSelect")), 0, "")
	check(t, agent.update(t, object, "", taints()), 403, denial("unreachable"))
	_, err := agent.resourceFor(object).Patch(t.Context(), name, types.JSONPatchType, []byte(`[{"op":"remove","path":"/spec/taints"}]`),
		metav1.PatchOptions{})
	check(t, err, 403, denial("unreachable"))
	check(t, agent.update(t, object, "", taints("cluster.open-cluster-management.io/unreachable:NoSelect", "own:NoSelect")), 0, "")
	keeper := newUser(t, "keeper", []rule{allVerbsOn("managedclusters"), grantNamed("update", "managedclusters/taint")})
	check(t, keeper.update(t, object, "", taints("cluster.open-cluster-management.io/unavailable:NoSelect")), 0, "")
}

func TestFaultyClusters(t *testing.T) {
	requireWebhooks(t)
	administrator := admin(t)
	check(t, administrator.create(t.Context(), cluster("a.b")), 400, denied("managedclusters",
		`ManagedCluster.cluster.open-cluster-management.io "a.b" is invalid: metadata.name: Invalid value: "a.b": must be the name of a namespace too: must not contain dots`))
	twice := cluster("c-"+unique(), taints("gpu:NoSelect", "gpu:NoSelect"))
	check(t, administrator.create(t.Context(), twice), 422, denied("managedclusters",
		`ManagedCluster.cluster.open-cluster-management.io "%s" is invalid: spec.taints[1]: Duplicate value: "gpu:NoSelect"`,
		asObject(twice).GetName()))
	for _, url := range []string{"https://", "http://a"} {
		address := func(o *unstructured.Unstructured) {
			_ = unstructured.SetNestedSlice(o.Object, []any{map[string]any{"url": url}}, "spec", "managedClusterClientConfigs")
		}
		name := "c-" + unique()
		refused := denied("default.managedclusters", `ManagedCluster.cluster.open-cluster-management.io "%s" is invalid: `+
			`spec.managedClusterClientConfigs[0].url: Invalid value: "%s": must be an https URL with a host`, name, url)
		check(t, administrator.create(t.Context(), cluster(name, address)), 400, refused)
		administrator.mustCreate(t, cluster(name))
		check(t, administrator.update(t, cluster(name), "", address), 400, refused)
	}
	// Errors of objects that were stored without the webhooks do not block other changes.
	old := cluster(oldCluster)
	check(t, administrator.update(t, old, "", func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{infoLabel: "x"}) }), 0, "")
	if len(taintTimes(administrator.stored(t, old))) != 2 {
		t.Error("the old cluster lost a taint")
	}
}

func TestImpersonation(t *testing.T) {
	requireWebhooks(t)
	administrator := admin(t)
	jane := newUser(t, "jane", []rule{allVerbsOn("managedclusters"), grantNamed("create", "managedclusters/label", setLabel+":dev")})
	impersonator := newUser(t, "puppeteer", []rule{
		allVerbsOn("managedclusters"), grantNamed("create", "managedclusters/label"),
		{APIGroups: []string{""}, Resources: []string{"users"}, Verbs: []string{"impersonate"}, ResourceNames: []string{jane.name}},
	})
	// An impersonating user has only the permissions of the impersonated one.
	object := cluster("c-"+unique(), labels(setLabel, "prod"))
	impersonating := impersonator.as(t, jane.name)
	check(t, impersonating.create(t.Context(), object), 403, lacksPut(jane, asObject(object).GetName(), setLabel, "prod"))
	check(t, impersonating.create(t.Context(), cluster("c-"+unique(), labels(setLabel, "dev"))), 0, "")
	// A user without the permission to impersonate is denied.
	refused := `managedclusters.cluster.open-cluster-management.io is forbidden: User "` + jane.name +
		`" cannot impersonate-on:user-info:create resource "managedclusters" in API group "cluster.open-cluster-management.io" at the cluster scope`
	if !hubtest.RunsLinkedKubernetes() { // a former release names the user that may not be impersonated
		refused = `users "` + impersonator.name + `" is forbidden: User "` + jane.name +
			`" cannot impersonate resource "users" in API group "" at the cluster scope`
	}
	check(t, jane.as(t, impersonator.name).create(t.Context(), object), 403, refused)
	check(t, impersonating.as(t, jane.name, "system:masters").create(t.Context(), object), 403,
		`groups "system:masters" is forbidden: User "`+impersonator.name+
			`" cannot impersonate resource "groups" in API group "" at the cluster scope`)
	if _, err := administrator.resourceFor(object).Get(t.Context(), asObject(object).GetName(),
		metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("Get = %v, want the cluster not stored", err)
	}
}

// TestRoleBindingsDoNotCount checks that the owner of a namespace cannot grant permissions outside it.
func TestRoleBindingsDoNotCount(t *testing.T) {
	requireWebhooks(t)
	namespace := shared.Namespace(t)
	jane := newUser(t, "jane", []rule{allVerbsOn("managedclusters"), allVerbsOn("managedclustersetbindings")})
	roles := shared.Client(t).RbacV1()
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "binder"}, Rules: []rule{
		grantNamed("create", "managedclustersets/bind"), grantNamed("create", "managedclusters/label"),
		grantNamed("create", "managedclustersets/join"),
	}}
	kit.Must(roles.Roles(namespace).Create(t.Context(), role, metav1.CreateOptions{})).In(t)
	binds := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "binder"}, RoleRef: kit.Role("binder"),
		Subjects: []rbacv1.Subject{kit.User(jane.name)},
	}
	kit.Must(roles.RoleBindings(namespace).Create(t.Context(), binds, metav1.CreateOptions{})).In(t)
	object := cluster(namespace, labels(setLabel, "dev"))
	check(t, jane.create(t.Context(), object), 403, lacksPut(jane, namespace, setLabel, "dev"))
	check(t, jane.create(t.Context(), binding(namespace, "dev", "dev")), 403, lacksBind(jane, "dev"))
}
