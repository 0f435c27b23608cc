//go:build slow

package permission

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-project/berth/hub/hubtest/kit"
)

// TestDelegatedRulesAreNeeded runs the steps without each rule that no request of the manager needs: the API server, or a webhook, needs
// its permissions. The steps must fail because of the rule: the denied request needs it, or the manager reports it as missing at its
// start. TestEveryVerbIsUsed has the other rules.
func TestDelegatedRulesAreNeeded(t *testing.T) {
	shared.GrantViews(t)
	admin := kit.New(t, shared)
	number := -1
	all := allRules(t)
	for r, role := range managerRoles(t) {
		whole := *rules(role)
		for i, rule := range whole {
			number++
			if slices.ContainsFunc(own(all, number), func(p permission) bool { return !p.isDelegated() }) {
				continue
			}
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
