package attack

import (
	"fmt"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// step is a random action.
type step struct {
	*testHub
	// tenant is the tenant that acts or is affected. otherTenant is another tenant.
	tenant, otherTenant *tenant
	touched             []string
	// down is set while no manager runs. Requests that its webhooks check then fail.
	down bool
}

// action is a kind of step.
type action struct {
	name string
	// weight is the relative frequency of the action.
	weight int
	// bothTenants is set for actions that also affect the other tenant.
	bothTenants bool
	do          func(*step)
}

// step draws an action and a tenant, runs the action, and checks the result.
func (t *testHub) step() {
	t.t.Helper()
	t.number++
	chosen := t.pickAction()
	first := t.random.IntN(len(t.tenants))
	second := (first + 1 + t.random.IntN(len(t.tenants)-1)) % len(t.tenants)
	s := &step{testHub: t, tenant: t.tenants[first], otherTenant: t.tenants[second]}
	t.logf("%s: %s", s.tenant.set, chosen.name)
	free := map[string]bool{sentinelNamespace: true, "audit": true}
	for _, namespace := range s.tenant.namespaces {
		free[namespace] = true
	}
	for _, namespace := range s.otherTenant.namespaces {
		free[namespace] = free[namespace] || chosen.bothTenants
	}
	t.follower.Begin(func(placement types.NamespacedName) bool { return free[placement.Namespace] })
	chosen.do(s)
	if !s.down {
		t.checkLatency()
	}
	s.awaitEffects()
	for _, moved := range t.follower.End() {
		t.t.Errorf("a decision of another tenant changed: %s", moved)
	}
}

// awaitEffects waits until the writes of the step have taken effect.
func (s *step) awaitEffects() {
	s.t.Helper()
	s.awaitIdle(append(s.touched, "placements")...)
	s.touched = nil
}

func (t *testHub) pickAction() action {
	total := 0
	for _, one := range actions {
		total += one.weight
	}
	at := t.random.IntN(total)
	for _, one := range actions {
		if at -= one.weight; at < 0 {
			return one
		}
	}
	panic("attack: a draw beyond all weights")
}

// sentinels are the resources that the manager watches, with their names in the sentinel.
var sentinels = map[string]string{
	"placements": "placements", "managedclusters": "clusters", "managedclustersets": "sets",
	"managedclustersetbindings": "bindings", "placementdecisions": "decisions",
}

// request sends a request. A failure of the hub fails the test at once. All other results are checked after the step.
func (s *step) request(caller *user, method, path, kind, body string, headers ...string) apiResponse {
	s.t.Helper()
	if resource, watched := sentinels[resourceIn(path)]; watched {
		s.touched = append(s.touched, resource)
	}
	got, err := caller.send(s.t.Context(), method, path, kind, body, headers...)
	const most = 400
	s.logf("  %s: %s %s %.*s -> %d %.*s %v", caller.Name(), method, path, most, body, got.code, most, got.message, err)
	s.tried[fmt.Sprintf("%s %s: %d", method, resourceIn(path), got.code)]++
	if err != nil || got.code >= http.StatusInternalServerError && !s.down {
		s.t.Errorf("the hub failed: %s: %s %s: %d %s %v", caller.Name(), method, path, got.code, got.message, err)
	}
	return got
}

// requestForbidden is request for a request that must be refused.
func (s *step) requestForbidden(caller *user, method, path, kind, body string, headers ...string) {
	s.t.Helper()
	if got := s.request(caller, method, path, kind, body, headers...); got.code < http.StatusBadRequest {
		s.t.Errorf("a forbidden request of %s succeeded: %s %s %s", caller.Name(), method, path, body)
	}
}

// resourceIn returns the resource in a path.
func resourceIn(path string) string {
	path, _, _ = strings.Cut(path, "?")
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if part == "namespaces" && len(parts) > i+2 {
			return parts[i+2]
		}
	}
	return parts[min(len(parts)-1, 4)]
}

// pick returns a random value.
func pick[T any](s *step, of ...T) T { return of[s.random.IntN(len(of))] }

// user returns a random user of the tenant.
func (s *step) user() *user { return pick(s, s.tenant.editor, s.tenant.binder, s.tenant.admin) }

func (s *step) namespace() string { return pick(s, s.tenant.namespaces...) }

// placement returns the name of a placement of the pool.
func (s *step) placement() string { return fmt.Sprintf("p-%d", s.random.IntN(placementPool)) }

// cluster returns the name of a cluster of the pool of a tenant.
func (s *step) cluster(of *tenant) string { return of.cluster(s.random.IntN(clusterPool)) }
