//go:build slow

package install

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

const setDefinition = "managedclustersets.cluster.open-cluster-management.io"

// edit changes a definition of a hub.
func edit(t *testing.T, hub *kit.Client, name string, change func(*apiextensionsv1.CustomResourceDefinitionSpec)) {
	t.Helper()
	kit.NoError(t, retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		found := &apiextensionsv1.CustomResourceDefinition{}
		if err := hub.Get(t.Context(), client.ObjectKey{Name: name}, found); err != nil {
			return err
		}
		change(&found.Spec)
		return hub.Update(t.Context(), found)
	}))
}

// storeFormer makes a hub serve version v1alpha1 of placements and the former name of the selector of sets, and stores an object of each.
func storeFormer(t *testing.T, hub *hubtest.Hub) {
	t.Helper()
	definitions := kit.New(t, hub)
	open := &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)}
	edit(t, definitions, placements, func(spec *apiextensionsv1.CustomResourceDefinitionSpec) {
		spec.Versions[0].Storage = false
		spec.Versions = append(spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{
			Name: "v1alpha1", Served: true, Storage: true, Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: open},
		})
	})
	edit(t, definitions, setDefinition, func(spec *apiextensionsv1.CustomResourceDefinitionSpec) {
		schema := spec.Versions[len(spec.Versions)-1].Schema.OpenAPIV3Schema.Properties["spec"]
		selector := schema.Properties["clusterSelector"]
		kind := selector.Properties["selectorType"]
		kind.Enum = append(kind.Enum, apiextensionsv1.JSON{Raw: []byte(`"LegacyClusterSetLabel"`)})
		selector.Properties["selectorType"] = kind
		schema.Properties["clusterSelector"] = selector
		spec.Versions[len(spec.Versions)-1].Schema.OpenAPIV3Schema.Properties["spec"] = schema
	})
	admin := kit.New(t, hub)
	for _, object := range []map[string]any{
		{
			"apiVersion": "cluster.open-cluster-management.io/v1alpha1", "kind": "Placement",
			"metadata": map[string]any{"namespace": "default", "name": "old"},
			"spec": map[string]any{"prioritizerPolicy": map[string]any{
				"mode":           "Exact",
				"configurations": []any{map[string]any{"name": "Steady", "weight": int64(3)}},
			}},
		},
		{
			"apiVersion": "cluster.open-cluster-management.io/v1beta2", "kind": "ManagedClusterSet", "metadata": map[string]any{"name": "old"},
			"spec": map[string]any{"clusterSelector": map[string]any{"selectorType": "LegacyClusterSetLabel"}},
		},
	} {
		// The API server serves a changed definition a moment later.
		kit.Await(t, "the API server serves the changed definition", func(ctx context.Context) error {
			return client.IgnoreAlreadyExists(admin.Create(ctx, &unstructured.Unstructured{Object: object}))
		})
	}
	edit(t, definitions, placements, func(spec *apiextensionsv1.CustomResourceDefinitionSpec) {
		spec.Versions[0].Storage, spec.Versions[1].Storage = true, false
	})
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "dev-admins"}, Subjects: []rbacv1.Subject{kit.Group("dev")}}
	binding.RoleRef = kit.ClusterRole("open-cluster-management:managedclusterset:admin:dev")
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{
		Name: "berth:managedclusterset:admin:dev", Labels: map[string]string{
			clusterv1beta2.SetRoleLabel:    "admin",
			clusterv1beta2.ClusterSetLabel: "dev",
		},
	}}
	admin.MustCreate(binding, role)
}

func TestMigrateConvertsWhatEarlierVersionsStored(t *testing.T) {
	hub := hubtest.New(t, hubtest.Options{})
	storeFormer(t, hub)
	admin := kit.New(t, hub)
	dry := mustRun(t, hub, hubtest.PluginBinary, "migrate")
	for _, want := range []string{
		"would update ManagedClusterSet old: selectorType LegacyClusterSetLabel becomes ExclusiveClusterSetLabel\n",
		"would update Placement default/old: configurations[].name becomes configurations[].scoreCoordinate\n",
		"would create ClusterRoleBinding berth:dev-admins: the subjects of dev-admins get the role berth:managedclusterset:admin:dev\n",
		"would store again all placements: v1alpha1 becomes v1beta1\n", "This was a dry run",
	} {
		if !strings.Contains(dry, want) {
			t.Errorf("the dry run lacks %q:\n%s", want, dry)
		}
	}
	if again := mustRun(t, hub, hubtest.PluginBinary, "migrate"); again != dry {
		t.Errorf("the dry run changed the hub: before\n%s\nafter\n%s", dry, again)
	}
	kit.Await(t, "the migration succeeds", func(ctx context.Context) error {
		output, err := run(ctx, t, hub, hubtest.PluginBinary, "migrate", "--yes") // the definition has just changed
		if err != nil {
			return fmt.Errorf("%w: %s", err, output)
		}
		return nil
	})
	if output := mustRun(t, hub, hubtest.PluginBinary, "migrate"); output != "Nothing is left to convert.\n" {
		t.Errorf("after it a dry run finds\n%s", output)
	}

	placement, set, binding := &clusterv1beta1.Placement{}, &clusterv1beta2.ManagedClusterSet{}, &rbacv1.ClusterRoleBinding{}
	for key, object := range map[client.ObjectKey]client.Object{
		{Namespace: "default", Name: "old"}: placement, {Name: "old"}: set,
		{Name: "berth:dev-admins"}: binding,
	} {
		admin.MustGet(key, object)
	}
	want := []clusterv1beta1.PrioritizerConfig{{
		ScoreCoordinate: &clusterv1beta1.ScoreCoordinate{Type: "BuiltIn", BuiltIn: "Steady"},
		Weight:          new(int32(3)),
	}}
	if diff := cmp.Diff(want, placement.Spec.PrioritizerPolicy.Configurations); diff != "" {
		t.Errorf("prioritizers of the placement (-want +got):\n%s", diff)
	}
	if set.Spec.ClusterSelector.SelectorType != clusterv1beta2.ExclusiveClusterSetLabel {
		t.Errorf("the set selects by %s", set.Spec.ClusterSelector.SelectorType)
	}
	if len(binding.Subjects) != 1 || binding.Subjects[0].Name != "dev" || binding.RoleRef.Name != "berth:managedclusterset:admin:dev" {
		t.Errorf("the binding is %+v", binding)
	}
	definitions := kit.New(t, hub)
	requireStored(t, definitions, placements, "v1beta1")
	// Definitions that are applied afterwards change nothing of this.
	mustRun(t, hub, manager, "crds", "apply")
	requireStored(t, definitions, placements, "v1beta1")
}

// TestMigrateBeforeAndAfterTheDefinitionsAreApplied migrates a hub whose definitions store objects in former versions. This release lacks
// that of placements, and has that of sets. Whatever comes first, no former version is left as stored.
func TestMigrateBeforeAndAfterTheDefinitionsAreApplied(t *testing.T) {
	hub := hubtest.New(t, hubtest.Options{})
	definitions := kit.New(t, hub)
	storeFormer(t, hub)
	makeFormer(t, definitions, placements, func(spec *apiextensionsv1.CustomResourceDefinitionSpec) {
		spec.Versions[0].Storage, spec.Versions[1].Storage = false, true
	}, "v1alpha1")
	makeFormer(t, definitions, setDefinition, func(spec *apiextensionsv1.CustomResourceDefinitionSpec) {
		spec.Versions[0].Storage, spec.Versions[1].Storage = true, false
	}, "v1beta1")
	removeField(t, definitions, "tiers")

	first := mustRun(t, hub, hubtest.PluginBinary, "migrate")
	for _, want := range []string{
		placements + " stores objects in version v1alpha1, and that of this release in v1beta1: apply the definitions",
		setDefinition + " stores objects in version v1beta1, and that of this release in v1beta2: apply the definitions",
	} {
		if !strings.Contains(first, want) {
			t.Errorf("migrate before the definitions lacks %q:\n%s", want, first)
		}
	}
	mustRun(t, hub, hubtest.PluginBinary, "migrate", "--yes")
	for range 2 { // a repetition prints the same
		applied := mustRun(t, hub, manager, "crds", "apply")
		for _, want := range []string{
			"stored in version v1alpha1 too: `kubectl berth migrate --yes`",
			"stored in version v1beta1 too: `kubectl berth migrate --yes`",
		} {
			if !strings.Contains(applied, want) {
				t.Errorf("apply lacks %q:\n%s", want, applied)
			}
		}
	}
	after := &apiextensionsv1.CustomResourceDefinition{}
	definitions.MustGet(client.ObjectKey{Name: placements}, after)
	if _, ok := spec(after).Properties["tiers"]; !ok || len(after.Spec.Versions) != 2 || !after.Spec.Versions[1].Served {
		t.Errorf("the definition of placements has not both the fields of this release and the former version: %+v", after.Spec.Versions)
	}
	kit.Await(t, "the migration succeeds", func(ctx context.Context) error {
		if output, err := run(ctx, t, hub, hubtest.PluginBinary, "migrate", "--yes"); err != nil { // the definitions have just changed
			return fmt.Errorf("%w: %s", err, output)
		}
		return nil
	})
	if output := mustRun(t, hub, manager, "crds", "apply"); strings.Contains(output, "too:") ||
		!strings.Contains(output, placements+" unchanged") {
		t.Errorf("after all, apply prints\n%s", output)
	}
	requireStored(t, definitions, placements, "v1beta1")
	requireStored(t, definitions, setDefinition, "v1beta2")
	if output := mustRun(t, hub, hubtest.PluginBinary, "migrate"); output != "Nothing is left to convert.\n" {
		t.Errorf("after all, a dry run finds\n%s", output)
	}
	placement := &clusterv1beta1.Placement{}
	kit.New(t, hub).MustGet(client.ObjectKey{Namespace: "default", Name: "old"}, placement)
	if found := placement.Spec.PrioritizerPolicy.Configurations; len(found) != 1 || found[0].ScoreCoordinate == nil ||
		found[0].ScoreCoordinate.BuiltIn != "Steady" {
		t.Errorf("the prioritizers of the placement are %+v", found)
	}
}

// makeFormer changes a definition, as a former version of OCM had it, and which version its objects are recorded as stored in.
func makeFormer(t *testing.T, hub *kit.Client, name string, change func(*apiextensionsv1.CustomResourceDefinitionSpec), stored string) {
	t.Helper()
	edit(t, hub, name, change)
	kit.NoError(t, retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		found := &apiextensionsv1.CustomResourceDefinition{}
		if err := hub.Get(t.Context(), client.ObjectKey{Name: name}, found); err != nil {
			return err
		}
		found.Status.StoredVersions = []string{stored}
		return hub.Status().Update(t.Context(), found)
	}))
}

// requireStored requires that a definition records one version as stored.
func requireStored(t *testing.T, hub *kit.Client, name, want string) {
	t.Helper()
	found := &apiextensionsv1.CustomResourceDefinition{}
	hub.MustGet(client.ObjectKey{Name: name}, found)
	if diff := cmp.Diff([]string{want}, found.Status.StoredVersions); diff != "" {
		t.Errorf("stored versions of %s (-want +got):\n%s", name, diff)
	}
}
