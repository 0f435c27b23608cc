package attack

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/rest"

	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// Names come from small pools, so that the hub stays small in a long run. A created object often exists already.
const (
	placementPool = 5
	clusterPool   = 6
)

// tenant has a set, clusters in it, two namespaces to which the set is bound, and three users.
type tenant struct {
	// set is the name of the set, and of the tenant.
	set        string
	namespaces []string
	// editor may edit in the namespaces. binder may also bind the set. admin may also register clusters in the set.
	editor, binder, admin *user
	// agents are the agents of some of its clusters.
	agents []agent
}

func (t *tenant) cluster(number int) string { return fmt.Sprintf("%s-c%d", t.set, number) }

// testHub is a hub under attack.
type testHub struct {
	t            *testing.T
	random       *rand.Rand
	admin        *user
	reader       *kit.Client
	follower     *kit.SliceWatcher
	manager      *hubtest.Manager
	tenants      []*tenant
	sentinel     sentinel
	latencyProbe latencyProbe
	// number counts the steps. lines are the log of the last step.
	number int
	lines  []string
	// tried counts the requests, by kind and response code.
	tried map[string]int
}

func newTestHub(t *testing.T, seed uint64) *testHub {
	t.Helper()
	w := &testHub{
		t: t, random: rand.New(rand.NewPCG(seed, seed)), admin: newUser(t, "root", shared.Config()),
		reader: kit.New(t, shared), tried: map[string]int{},
	}
	w.follower = kit.WatchSlices(t, shared)
	w.manager = w.startManager()
	t.Cleanup(func() {
		w.manager.Stop()
		w.manager.CheckLog(t)
	})
	w.awaitGuard()
	for _, name := range []string{"alpha", "beta", "gamma"} {
		w.tenants = append(w.tenants, w.newTenant(name))
	}
	w.createIfMissing(namespaces, object{"metadata": object{"name": "audit"}})
	w.createIfMissing(bindings("audit"), newBinding("global"))
	w.createIfMissing(placements("audit"), newPlacement("everything", object{}))
	w.newSentinel()
	w.newLatencyProbe()
	w.awaitIdle("placements", "clusters", "sets", "bindings", "decisions")
	return w
}

// startManager starts the manager of the hub, with the flags of a deployment.
func (t *testHub) startManager() *hubtest.Manager {
	t.t.Helper()
	return hubtest.StartManager(t.t, shared, hubtest.ManagerOptions{Webhooks: true, AllowErrors: true, Shared: true, TaintUnjoined: true})
}

// awaitGuard waits until the webhooks accept valid objects and deny invalid objects.
func (t *testHub) awaitGuard() {
	t.t.Helper()
	wrong := object{"predicates": []object{{"requiredClusterSelector": cel("1 + 1")}}}
	for code, spec := range map[int]object{http.StatusCreated: {}, http.StatusUnprocessableEntity: wrong} {
		kit.Await(t.t, "the webhooks accept valid objects and deny invalid objects", func(ctx context.Context) error {
			got, err := t.admin.send(ctx, http.MethodPost, placements("default")+"?dryRun=All", plainJSON, toJSON(newPlacement("guard", spec)))
			if err == nil && got.code != code {
				err = fmt.Errorf("the webhooks do not check yet: %d %s", got.code, got.message)
			}
			return err
		})
	}
}

// createIfMissing stores an object unless it exists.
func (t *testHub) createIfMissing(collection string, content any) {
	t.t.Helper()
	kit.Await(t.t, "the object is stored", func(ctx context.Context) error {
		got, err := t.admin.send(ctx, http.MethodPost, collection, plainJSON, toJSON(content))
		if err == nil && got.code != http.StatusCreated && got.code != http.StatusConflict {
			err = fmt.Errorf("%s: %d %s", collection, got.code, got.message) // such as a webhook that does not respond yet
		}
		return err
	})
}

func (t *testHub) newTenant(name string) *tenant {
	t.t.Helper()
	out := &tenant{set: name, namespaces: []string{name + "-1", name + "-2"}}
	t.createIfMissing(sets, newObject("ManagedClusterSet", "v1beta2", name))
	for _, namespace := range out.namespaces {
		t.createIfMissing(namespaces, object{"metadata": object{"name": namespace}})
	}
	for number := range clusterPool - 2 {
		t.join(out.cluster(number), name)
	}
	out.editor = t.newTenantUser(out, "editor")
	out.binder = t.newTenantUser(out, "binder", "berth:managedclusterset:binder:"+name)
	out.admin = t.newTenantUser(out, "admin", "berth:managedclusterset:admin:"+name, "berth:managedcluster:creator")
	out.agents = t.newAgents(out)
	t.createIfMissing(bindings(out.namespaces[0]), newBinding(name))
	t.createIfMissing(bindings(out.namespaces[1]), newBinding(name))
	for number, namespace := range out.namespaces {
		t.createIfMissing(placements(namespace), newPlacement("steady", object{"numberOfClusters": 2 + number}))
	}
	return out
}

// newTenantUser returns a new user with the role edit in a tenant's namespaces, and further roles in the whole hub.
func (t *testHub) newTenantUser(of *tenant, level string, roles ...string) *user {
	t.t.Helper()
	name := of.set + "-" + level
	subjects := []rbacv1.Subject{kit.User(name)}
	grant := func(collection, called, role string) {
		t.createIfMissing(collection, object{
			"metadata": object{"name": called}, "subjects": subjects,
			"roleRef": kit.ClusterRole(role),
		})
	}
	for _, namespace := range of.namespaces {
		grant(roleBindings(namespace), name, "edit")
	}
	for number, role := range roles {
		grant(clusterRoleBindings, fmt.Sprintf("%s-%d", name, number), role)
	}
	out := newUser(t.t, name, shared.ConfigFor(t.t, name))
	t.awaitAccess(out, http.MethodGet, placements(of.namespaces[1]))
	if len(roles) > 0 {
		t.awaitAccess(out, http.MethodGet, sets+"/"+of.set)
	}
	return out
}

// awaitAccess waits until the API server allows a user. Roles take effect with a delay.
func (t *testHub) awaitAccess(caller *user, method, path string) {
	t.t.Helper()
	kit.Await(t.t, "the API server allows a user", func(ctx context.Context) error {
		got, err := caller.send(ctx, method, path, plainJSON, "")
		if err == nil && got.code != http.StatusOK {
			err = fmt.Errorf("%s %s: %d %s", caller.Name(), path, got.code, got.message)
		}
		return err
	})
}

// condition returns a patch with the status of the condition Available.
func condition(available string) string {
	return fmt.Sprintf(`{"status":{"conditions":[
		{"type":"HubAcceptedManagedCluster","status":"True","reason":"HubClusterAdminAccepted","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"},
		{"type":"ManagedClusterJoined","status":"True","reason":"ManagedClusterJoined","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"},
		{"type":"ManagedClusterConditionAvailable","status":%q,"reason":"Reported","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`,
		available)
}

// join makes a cluster accepted and available, and creates it if it is missing. Its lease lasts longer than the test.
func (t *testHub) join(name, set string) {
	t.t.Helper()
	t.createIfMissing(namespaces, object{"metadata": object{"name": name, "labels": object{"open-cluster-management.io/cluster-name": name}}})
	t.createIfMissing(clusters, newCluster(name, object{group + "/clusterset": set, "size": "s"}).with("spec",
		object{"hubAcceptsClient": true, "leaseDurationSeconds": 3600}))
	ctx := t.t.Context()
	if _, err := t.admin.send(ctx, http.MethodPatch, clusters+"/"+name, mergePatch,
		`{"spec":{"hubAcceptsClient":true,"leaseDurationSeconds":3600}}`); err != nil {
		t.t.Fatal(err)
	}
	kit.Must(t.admin.send(ctx, http.MethodPatch, clusters+"/"+name+"/status", mergePatch, condition("True"))).In(t.t)
}

// awaitIdle waits until the manager has processed the writes to some resources, and no namespace has a cluster that it may not
// reach. It also waits for the effects of the manager's own writes to clusters, such as taints.
func (t *testHub) awaitIdle(touched ...string) {
	t.t.Helper()
	t.sentinel.flip(t, touched)
	if slices.Contains(touched, "clusters") {
		kit.Await(t.t, "the queues of the manager are empty", t.checkIdle)
		t.sentinel.flip(t, []string{"clusters"})
	}
	kit.Await(t.t, "the manager is idle and no namespace has a cluster that it may not reach", func(ctx context.Context) error {
		if err := t.checkIdle(ctx); err != nil {
			return err
		}
		all, err := readHub(ctx, t.reader)
		if err != nil {
			return err
		}
		return errors.Join(all.checkReachable(), all.checkObserved())
	})
}

var errBusy = errors.New("the manager is not idle")

func (t *testHub) checkIdle(ctx context.Context) error {
	measured, err := t.manager.ReadMetrics(ctx)
	if err != nil {
		return err
	}
	if waiting, active := measured.Sum("workqueue_depth"), measured.Sum("controller_runtime_active_workers"); waiting+active > 0 {
		return fmt.Errorf("%w: %v waiting, %v active", errBusy, waiting, active)
	}
	return nil
}

// logf adds a line to the log of the step.
func (t *testHub) logf(format string, args ...any) {
	const most = 60
	t.lines = append(t.lines, fmt.Sprintf("#%d ", t.number)+fmt.Sprintf(format, args...))
	t.lines = t.lines[max(0, len(t.lines)-most):]
}

func (t *testHub) logText() string { return strings.Join(t.lines, "\n") }

// reportCounts logs the requests and their responses. A run without a stored object, or without a refusal, fails.
func (t *testHub) reportCounts() {
	stored, refused := 0, 0
	for how, times := range t.tried {
		if strings.Contains(how, ": 2") {
			stored += times
		} else {
			refused += times
		}
	}
	t.t.Logf("%d steps; %d requests were carried out, %d refused; probes took %s at most, %s when idle",
		t.number, stored, refused, t.latencyProbe.worst, t.latencyProbe.idle)
	if t.number >= steps && (stored < t.number/4 || refused < t.number/4) {
		t.t.Errorf("no request was stored, or none was refused: %v", t.tried)
	}
}

// anonymous returns a user without credentials.
func (t *testHub) anonymous() *user {
	return newUser(t.t, "anonymous", rest.AnonymousClientConfig(shared.Config()))
}
