package permission

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-project/berth/config"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// stepTimeout is far more than a step needs, also on a busy machine. Otherwise a slow step would make an unneeded rule look
// needed. A step that lacks a rule fails at once with its denied request, except for requests of the API server to the manager.
const stepTimeout = 60 * time.Second

// delegatedCells are the permissions that the manager never uses in a request of its own. The API server requires them for the
// roles that it grants, for the sets that it binds and for the owners that it names. Its own webhook requires them for health
// taints.
func delegatedCells() []string {
	return []string{
		"create managedclusters/label", "create managedclustersets/bind", "create managedclustersets/join",
		"get managedclustersets", "update placements/finalizers", "update managedclusters/taint",
		"get managedclusters", "update managedclusters", "delete managedclusters",
		"get managedclusters/setadmin", "update managedclusters/setadmin", "patch managedclusters/setadmin", "delete managedclusters/setadmin",
	}
}

// occasionalCells are permissions that the lifecycle does not use: an event is patched only when it repeats soon.
func occasionalCells() []string { return []string{"patch events"} }

// managerRoles are the generated roles of the manager.
func managerRoles(t *testing.T) []client.Object {
	t.Helper()
	data := kit.Must(fs.ReadFile(config.Access()[1], "role.yaml")).In(t)
	var out []client.Object
	for document := range strings.SplitSeq(string(data), "\n---\n") {
		var object client.Object = &rbacv1.ClusterRole{}
		if strings.Contains(document, "kind: Role\n") {
			object = &rbacv1.Role{}
		}
		kit.NoError(t, yaml.Unmarshal([]byte(document), object))
		out = append(out, object)
	}
	return out
}

func rules(object client.Object) *[]rbacv1.PolicyRule {
	if role, ok := object.(*rbacv1.Role); ok {
		return &role.Rules
	}
	return &object.(*rbacv1.ClusterRole).Rules
}

// permissionsOf returns the permissions of rules: each verb on each resource.
func permissionsOf(rules []rbacv1.PolicyRule) []permission {
	var out []permission
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					out = append(out, permission{verb, group, resource})
				}
			}
		}
	}
	return out
}

// store stores a role unchanged.
func store(t *testing.T, admin *kit.Client, role client.Object) {
	t.Helper()
	current, ok := role.DeepCopyObject().(client.Object)
	if !ok {
		t.Fatal("no object")
	}
	admin.MustGet(client.ObjectKeyFromObject(role), current)
	*rules(current) = *rules(role)
	admin.MustUpdate(current)
}

// TestEveryVerbIsUsed runs the steps with unchanged roles.
func TestEveryVerbIsUsed(t *testing.T) {
	shared.GrantViews(t)
	tour := newLifecycle(t, "whole")
	if err := tour.run(); err != nil {
		t.Fatalf("the steps fail: %v; the manager's log:\n%s", err, tour.manager.Tail())
	}
	// The hub may show the result of the last steps before the proxy has recorded the requests.
	kit.AwaitWithin(t, stepTimeout, "every verb is used", func(context.Context) error {
		used, _ := tour.proxy.recorded()
		return checkAllUsed(t, used)
	})
}

// checkAllUsed returns an error with the first verb of a role that the manager did not use.
func checkAllUsed(t *testing.T, used sets.Set[permission]) error {
	t.Helper()
	for _, role := range managerRoles(t) {
		for _, cell := range permissionsOf(*rules(role)) {
			text := cell.verb + " " + cell.resource
			if cell.verb == "list" { // this API server streams lists into watches; older servers do not
				cell.verb = "watch"
			}
			if !used.Has(cell) && !slices.Contains(delegatedCells(), text) && !slices.Contains(occasionalCells(), text) {
				return fmt.Errorf("%s/%s: the manager never uses %s in group %q", role.GetNamespace(), role.GetName(), text, cell.group)
			}
		}
	}
	return nil
}

// TestEveryRuleIsNeeded runs the steps without each rule in turn. The steps must fail because of the rule: the denied request needs it,
// or the manager reports it as missing at its start.
func TestEveryRuleIsNeeded(t *testing.T) {
	shared.GrantViews(t)
	admin := kit.New(t, shared)
	for r, role := range managerRoles(t) {
		whole := *rules(role)
		for i, rule := range whole {
			t.Run(fmt.Sprintf("%s %s", strings.Join(rule.Verbs, ","), strings.Join(rule.Resources, ",")), func(t *testing.T) {
				reduced, ok := role.DeepCopyObject().(client.Object)
				if !ok {
					t.Fatal("no object")
				}
				*rules(reduced) = slices.Delete(slices.Clone(whole), i, i+1)
				store(t, admin.For(t), reduced)
				defer store(t, admin.For(t), role) // also after a failure, because all other tests need this rule
				tour := newLifecycle(t, fmt.Sprintf("without-%d-%d", r, i))
				err := tour.run()
				want := permissionsOf([]rbacv1.PolicyRule{rule})
				if _, refused := tour.proxy.recorded(); err == nil || !refused.lacks(want) && !named(tour.manager.Log(), want) {
					t.Errorf("without the rule the steps end with %v, the first denial is %+v; want a denial because of the rule", err, refused)
				}
			})
		}
	}
}

// named returns whether a log contains a missing permission.
func named(log string, of []permission) bool {
	return slices.ContainsFunc(of, func(c permission) bool {
		return strings.Contains(log, "the permission to "+c.verb+" "+c.resource)
	})
}
