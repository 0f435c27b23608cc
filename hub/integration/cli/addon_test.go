package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/cli"
)

// storeAddOn stores an add-on with the name of the namespace on the clusters of the placement, and its configuration.
func (f fixture) storeAddOn(t *testing.T) {
	t.Helper()
	for _, text := range []string{`
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: AddOnDeploymentConfig
metadata: {namespace: %[1]s, name: base}
spec: {customizedVariables: [{name: VERSION, value: "1"}]}
`, `
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: ClusterManagementAddOn
metadata: {name: %[1]s}
spec:
  supportedConfigs:
  - {group: addon.open-cluster-management.io, resource: addondeploymentconfigs, defaultConfig: {namespace: %[1]s, name: base}}
  installStrategy: {type: Placements, placements: [{namespace: %[1]s, name: web}]}
`} {
		object := &unstructured.Unstructured{}
		kit.NoError(t, yaml.Unmarshal([]byte(fmt.Sprintf(text, f.namespace)), &object.Object))
		f.create(t, object)
	}
}

// addOnRules are the permissions that `addon status` needs, each with the text of the error without it.
func (f fixture) addOnRules() map[string]rbacv1.PolicyRule {
	rule := func(group, resource, verb string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: []string{verb}}
	}
	return map[string]rbacv1.PolicyRule{
		"the permission to get clustermanagementaddons": rule(addonv1alpha1.GroupName,
			"clustermanagementaddons", "get"),
		"the permission to list managedclusteraddons in all namespaces": rule(addonv1alpha1.GroupName,
			"managedclusteraddons", "list"),
		"to get addondeploymentconfigs.addon.open-cluster-management.io " + f.namespace +
			"/base": rule(addonv1alpha1.GroupName, "addondeploymentconfigs", "get"),
		"the permission to list managedclusters": rule(clusterv1.GroupName, "managedclusters",
			"list"),
		"Placement " + f.namespace + "/web": rule(clusterv1.GroupName, "placements", "get"),
		"the decisions of Placement " + f.namespace + "/web": rule(clusterv1.GroupName, "placementdecisions",
			"list"),
	}
}

// TestAddOnStatus reads an add-on that no controller has installed yet, with exactly the permissions that the help names. Without any one
// of them there is an error that names it.
func TestAddOnStatus(t *testing.T) {
	hubtest.StartManager(t, shared, hubtest.ManagerOptions{})
	s := newFixture(t)
	s.waitDecided(t)
	s.storeAddOn(t)
	rules, user := s.addOnRules(), s.namespace+"-reader"
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: user}}
	s.create(t, role)
	s.create(t, kit.ClusterRoleBinding(user, user, kit.User(user)))
	awaits := func(without string, want func(result) bool) {
		t.Helper()
		s.grant(t, role, rules, without)
		// the API server reads the role a moment after it is stored
		kit.Await(t, "the command reports what the user may not read", func(ctx context.Context) error {
			if got := run(ctx, "addon", "status", s.namespace, "--as", user); !want(got) {
				return fmt.Errorf("without %q: %w: %+v", without, errNotYet, got)
			}
			return nil
		})
	}
	for text := range rules {
		awaits(text, func(got result) bool {
			return got.code == cli.ExitRefused && got.out == "" && strings.Contains(got.errOut, text) &&
				strings.Contains(got.errOut, "you need the permission to")
		})
	}
	awaits("", func(got result) bool {
		return got.code == cli.ExitOK && got.errOut == "" && strings.Contains(got.out, "NotInstalled") &&
			strings.Contains(got.out, s.namespace+"/web: Starting 1 cluster, 1 of 1 under way then")
	})
	missing := run(t.Context(), "addon", "status", "missing")
	if missing.code != cli.ExitRefused || !strings.Contains(missing.errOut,
		`reading the ClusterManagementAddOn missing: clustermanagementaddons.addon.open-cluster-management.io "missing" not found`) {
		t.Errorf("got %+v", missing)
	}
	if got := completions(t, "addon", "status", s.namespace); !slices.Equal(got, []string{s.namespace}) {
		t.Errorf("completed %q", got)
	}
}

// grant stores all rules in a role, without the rule of a text.
func (f fixture) grant(t *testing.T, role *rbacv1.ClusterRole, rules map[string]rbacv1.PolicyRule, without string) {
	t.Helper()
	before := role.DeepCopy()
	role.Rules = nil
	for text, rule := range rules {
		if text != without {
			role.Rules = append(role.Rules, rule)
		}
	}
	f.client.For(t).MustPatch(role, client.MergeFrom(before))
}
