package permission

import (
	"context"
	"errors"
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
		return errors.Join(checkAllUsed(t, used), checkAllNeeded(t, used))
	})
}

// checkAllNeeded returns an error with the first rule whose permissions in use are all in other rules too.
func checkAllNeeded(t *testing.T, used sets.Set[permission]) error {
	t.Helper()
	all := allRules(t)
	for i, rule := range all {
		if !slices.ContainsFunc(own(all, i), func(p permission) bool { return used.Has(p) || p.isDelegated() }) {
			return fmt.Errorf("no request needs the rule %v, which other rules cover", rule)
		}
	}
	return nil
}

// allRules returns the rules of all roles of the manager.
func allRules(t *testing.T) []rbacv1.PolicyRule {
	t.Helper()
	var out []rbacv1.PolicyRule
	for _, role := range managerRoles(t) {
		out = append(out, *rules(role)...)
	}
	return out
}

// own returns the permissions of a rule that no other rule has. A rule that names its objects covers these only, so it makes no other rule
// superfluous.
func own(all []rbacv1.PolicyRule, number int) []permission {
	covered := sets.New[permission]()
	for i, other := range all {
		if i != number && len(other.ResourceNames) == 0 {
			covered.Insert(permissionsOf([]rbacv1.PolicyRule{other})...)
		}
	}
	return slices.DeleteFunc(permissionsOf(all[number:number+1]), covered.Has)
}

// isDelegated returns whether the manager never uses the permission in a request of its own.
func (p permission) isDelegated() bool {
	return slices.Contains(delegatedCells(), p.verb+" "+p.resource)
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
			if !used.Has(cell) && !cell.isDelegated() && !slices.Contains(occasionalCells(), text) {
				return fmt.Errorf("%s/%s: the manager never uses %s in group %q", role.GetNamespace(), role.GetName(), text, cell.group)
			}
		}
	}
	return nil
}
