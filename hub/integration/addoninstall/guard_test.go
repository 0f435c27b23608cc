package addoninstall

import (
	"context"
	"fmt"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-project/berth/hub/hubtest/kit"
)

// TestAnAgentSteersNoAddOn holds what the agent of a cluster may write of add-ons, even with permissions that it should not have.
func TestAnAgentSteersNoAddOn(t *testing.T) {
	f := newFleet(t, 2)
	name := f.namespace
	f.configure("one")
	f.MustCreate(addOnOf(f.clusters[1], name))
	startManager(t)
	f.install(name)
	kit.Await(t, "the add-on is installed with its configurations", func(ctx context.Context) error {
		found, err := installed(ctx, f, name)
		if err == nil && (found[f.clusters[0]] == nil || statusOf(found[f.clusters[0]])["configReferences"] == nil) {
			err = errNotYet
		}
		return err
	})
	group := "system:open-cluster-management:" + f.clusters[0]
	f.MustCreate(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: f.namespace + "-all"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"addon.open-cluster-management.io"}, Resources: []string{"*"}, Verbs: []string{"*"}},
	}})
	f.MustCreate(kit.ClusterRoleBinding(f.namespace+"-all", f.namespace+"-all", kit.Group(group)))
	agent := kit.As(t, shared, group+":agent", group)
	own := addOnOf(f.clusters[0], name)
	kit.Await(t, "the agent may report its add-on", func(ctx context.Context) error { // the API server acts on new roles with a delay
		return agent.Status().Patch(ctx, own.DeepCopy(),
			merge(
				`{"status":{"conditions":[{"type":"Available","status":"True","reason":"ManagedClusterAddOnLeaseUpdated","message":"","lastTransitionTime":"2026-11-24T10:00:00Z"}]}}`))
	})
	cma := parse(t, fmt.Sprintf("{apiVersion: %s, kind: ClusterManagementAddOn, metadata: {name: %s}}", addOnVersion, name))
	for sentence, write := range map[string]func(ctx context.Context) error{
		"the configurations to reach": func(ctx context.Context) error {
			return agent.Status().Patch(ctx, own.DeepCopy(), merge(`{"status":{"configReferences":[]}}`))
		},
		"the configurations of its cluster": func(ctx context.Context) error {
			return agent.Patch(ctx, own.DeepCopy(),
				merge(
					`{"spec":{"configs":[{"group":"addon.open-cluster-management.io","resource":"addondeploymentconfigs","namespace":"x","name":"y"}]}}`))
		},
		"the owners": func(ctx context.Context) error {
			return agent.Patch(ctx, own.DeepCopy(), merge(`{"metadata":{"ownerReferences":[]}}`))
		},
		"the report of another cluster": func(ctx context.Context) error {
			return agent.Status().Patch(ctx, addOnOf(f.clusters[1], name), merge(`{"status":{"conditions":[]}}`))
		},
		"the add-on itself": func(ctx context.Context) error {
			return agent.Patch(ctx, cma.DeepCopy(), merge(`{"spec":{"installStrategy":{"type":"Manual"}}}`))
		},
		"its progress": func(ctx context.Context) error {
			return agent.Status().Patch(ctx, cma.DeepCopy(), merge(`{"status":{"installProgressions":[]}}`))
		},
		"another add-on": func(ctx context.Context) error { return agent.Create(ctx, addOnOf(f.clusters[0], "other")) },
		"the removal":    func(ctx context.Context) error { return agent.Delete(ctx, own.DeepCopy()) },
	} {
		if err := write(t.Context()); !apierrors.IsForbidden(err) {
			t.Errorf("%s: %v", sentence, err)
		}
	}
}

func addOnOf(cluster, name string) *unstructured.Unstructured {
	out := &unstructured.Unstructured{}
	out.SetAPIVersion(addOnVersion)
	out.SetKind("ManagedClusterAddOn")
	out.SetNamespace(cluster)
	out.SetName(name)
	out.Object["spec"] = map[string]any{}
	return out
}

func merge(text string) client.Patch { return client.RawPatch(types.MergePatchType, []byte(text)) }

// TestATenantNamesOnlyConfigurationsThatItMayRead holds that permissions in the namespace of a cluster give no content of other namespaces.
func TestATenantNamesOnlyConfigurationsThatItMayRead(t *testing.T) {
	f := newFleet(t, 1)
	f.configure("one")
	tenant := f.account("tenant",
		rbacv1.PolicyRule{
			APIGroups: []string{"addon.open-cluster-management.io"}, Resources: []string{"managedclusteraddons"},
			Verbs: []string{"create", "get", "update"},
		},
		rbacv1.PolicyRule{
			APIGroups: []string{"addon.open-cluster-management.io"}, Resources: []string{"addondeploymentconfigs"},
			ResourceNames: []string{"base", "a", "b", "c", "d", "e"}, Verbs: []string{"get"},
		},
	)
	object := func(version, addOn string, names ...string) *unstructured.Unstructured {
		out := addOnOf(f.clusters[0], addOn)
		out.SetAPIVersion("addon.open-cluster-management.io/" + version)
		var configs []any
		for _, name := range names {
			configs = append(configs, map[string]any{
				"group": "addon.open-cluster-management.io", "resource": "addondeploymentconfigs",
				"namespace": f.namespace, "name": name,
			})
		}
		out.Object["spec"] = map[string]any{"configs": configs}
		return out
	}
	// the API server acts on new roles and policies with a delay
	kit.Await(t, "the tenant may install an add-on", func(ctx context.Context) error {
		return tenant.Create(ctx, object("v1alpha1", "first", "base"))
	})
	kit.Await(t, "the tenant may not use a configuration that it may not read", func(ctx context.Context) error {
		if err := tenant.Create(ctx, object("v1alpha1", "second", "base", "hidden"), client.DryRunAll); !apierrors.IsForbidden(err) {
			return fmt.Errorf("a configuration that the tenant may not read: %w: %w", errNotYet, err)
		}
		return nil
	})
	for sentence, test := range map[string]struct {
		object *unstructured.Unstructured
		allows func(error) bool
	}{
		"four that it may read":      {object("v1alpha1", "a", "a", "b", "c", "d"), func(err error) bool { return err == nil }},
		"the fourth is hidden":       {object("v1alpha1", "b", "a", "b", "c", "hidden"), apierrors.IsForbidden},
		"five at once":               {object("v1alpha1", "c", "a", "b", "c", "d", "e"), apierrors.IsInvalid},
		"no configuration":           {object("v1alpha1", "d"), func(err error) bool { return err == nil }},
		"a secret by the wrong kind": {withKind(object("v1alpha1", "e", "base"), "", "secrets"), apierrors.IsForbidden},
	} {
		if err := tenant.Create(t.Context(), test.object); !test.allows(err) {
			t.Errorf("%s: %v", sentence, err)
		}
	}
	stored := addOnOf(f.clusters[0], "first")
	tenant.MustRead(stored)
	stored.Object["spec"] = object("v1alpha1", "first", "base", "hidden").Object["spec"]
	if err := tenant.Update(t.Context(), stored); !apierrors.IsForbidden(err) {
		t.Errorf("an update that adds a hidden one: %v", err)
	}
}

func withKind(object *unstructured.Unstructured, group, resource string) *unstructured.Unstructured {
	configs, _, _ := unstructured.NestedSlice(object.Object, "spec", "configs")
	config, _ := configs[0].(map[string]any)
	config["group"], config["resource"] = group, resource
	object.Object["spec"] = map[string]any{"configs": configs}
	return object
}
