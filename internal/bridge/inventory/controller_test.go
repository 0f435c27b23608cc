package inventory

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	multiclusterv1alpha1 "github.com/berth-project/berth/api/multicluster/v1alpha1"
)

var errBoom = errors.New("boom")

// liveReader counts the reads of the API server.
type liveReader struct {
	client.Reader

	gets, lists int
}

func (l *liveReader) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	l.gets++
	return l.Reader.Get(ctx, key, into, options...)
}

func (l *liveReader) List(ctx context.Context, into client.ObjectList, options ...client.ListOption) error {
	l.lists++
	return l.Reader.List(ctx, into, options...)
}

// inventory is a hub with profiles of another manager, and the controller.
type inventory struct {
	*testing.T
	*reconciler

	hub    client.WithWatch
	live   *liveReader
	clock  *clocktesting.FakePassiveClock
	events *events.FakeRecorder
	// fails is the error of writes.
	fails error
}

func newInventory(t *testing.T, names ...string) *inventory {
	t.Helper()
	kinds := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clusterv1.AddToScheme, multiclusterv1alpha1.AddToScheme} {
		if err := add(kinds); err != nil {
			t.Fatal(err)
		}
	}
	i := &inventory{T: t, clock: clocktesting.NewFakePassiveClock(start), events: events.NewFakeRecorder(100)}
	i.hub = fake.NewClientBuilder().WithScheme(kinds).WithStatusSubresource(&clusterv1.ManagedCluster{},
		&multiclusterv1alpha1.ClusterProfile{}).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, hub client.WithWatch, object client.Object, options ...client.CreateOption) error {
			if i.fails != nil {
				return i.fails
			}
			return hub.Create(ctx, object, options...)
		},
	}).Build()
	i.live = &liveReader{Reader: i.hub}
	i.reconciler = &reconciler{
		client: i.hub, live: i.live, recorder: i.events, budget: newBudget(), counts: map[string]count{}, states: map[client.ObjectKey]string{},
		losses: map[loss]lossState{}, held: map[client.ObjectKey]bool{},
		options: Options{Clock: i.clock, Namespaces: []string{"fleet"}, Manager: "berth", Grace: time.Hour},
	}
	for _, name := range names {
		i.publish(name, metav1.ConditionTrue)
	}
	i.reconcileAll(names)
	return i
}

// publish stores a profile with its status.
func (i *inventory) publish(name string, health metav1.ConditionStatus) {
	i.Helper()
	of := profile(func(p *multiclusterv1alpha1.ClusterProfile) { p.Name = name })
	if err := i.hub.Create(i.Context(), of.DeepCopy()); client.IgnoreAlreadyExists(err) != nil {
		i.Fatal(err)
	}
	stored := &multiclusterv1alpha1.ClusterProfile{}
	if err := i.hub.Get(i.Context(), client.ObjectKeyFromObject(of), stored); err != nil {
		i.Fatal(err)
	}
	stored.Status = of.Status
	stored.Status.Conditions = []metav1.Condition{{Type: multiclusterv1alpha1.ConditionControlPlaneHealthy, Status: health, Reason: "Up"}}
	if err := i.hub.Status().Update(i.Context(), stored); err != nil {
		i.Fatal(err)
	}
}

func (i *inventory) delete(names ...string) {
	i.Helper()
	for _, name := range names {
		if err := i.hub.Delete(i.Context(), &multiclusterv1alpha1.ClusterProfile{
			ObjectMeta: metav1.ObjectMeta{Namespace: "fleet", Name: name},
		}); err != nil {
			i.Fatal(err)
		}
	}
}

func (i *inventory) reconcile(name string) (reconcile.Result, error) {
	return i.Reconcile(i.Context(), reconcile.Request{NamespacedName: client.ObjectKey{Namespace: "fleet", Name: name}})
}

func (i *inventory) reconcileAll(names []string) {
	i.Helper()
	for _, name := range names {
		if _, err := i.reconcile(name); err != nil {
			i.Fatal(err)
		}
	}
}

// health returns how many clusters have each health.
func (i *inventory) health() map[metav1.ConditionStatus]int {
	i.Helper()
	list := &clusterv1.ManagedClusterList{}
	if err := i.hub.List(i.Context(), list); err != nil {
		i.Fatal(err)
	}
	out := map[metav1.ConditionStatus]int{}
	for _, cluster := range list.Items {
		out[meta.FindStatusCondition(cluster.Status.Conditions, clusterv1.ManagedClusterConditionAvailable).Status]++
	}
	return out
}

// strip removes the properties and the version of profiles.
func (i *inventory) strip(names ...string) {
	i.Helper()
	for _, name := range names {
		stored := &multiclusterv1alpha1.ClusterProfile{}
		if err := i.hub.Get(i.Context(), client.ObjectKey{Namespace: "fleet", Name: name}, stored); err != nil {
			i.Fatal(err)
		}
		stored.Status.Properties, stored.Status.Version.Kubernetes = nil, ""
		if err := i.hub.Status().Update(i.Context(), stored); err != nil {
			i.Fatal(err)
		}
	}
}

// withClaims returns how many clusters have claims and a version.
func (i *inventory) withClaims() int {
	i.Helper()
	list := &clusterv1.ManagedClusterList{}
	if err := i.hub.List(i.Context(), list); err != nil {
		i.Fatal(err)
	}
	out := 0
	for _, cluster := range list.Items {
		if len(cluster.Status.ClusterClaims) > 0 && cluster.Status.Version.Kubernetes != "" {
			out++
		}
	}
	return out
}

func (i *inventory) step(by time.Duration) { i.clock.SetTime(i.clock.Now().Add(by)) }

func named(count int) []string {
	var out []string
	for n := range count {
		out = append(out, fmt.Sprintf("c%02d", n))
	}
	return out
}

// TestAFailedManagerTakesNoClusterOut reports no health of one cluster, and then of all.
func TestAFailedManagerTakesNoClusterOut(t *testing.T) {
	names := named(8)
	i := newInventory(t, names...)
	i.publish(names[0], metav1.ConditionUnknown)
	if result, err := i.reconcile(names[0]); err != nil || result.RequeueAfter != unknownWait || i.health()[metav1.ConditionTrue] != 8 {
		t.Errorf("at first: %v, %v, %v, want no change", result, err, i.health())
	}
	i.step(unknownWait)
	if result, err := i.reconcile(names[0]); err != nil || result.RequeueAfter != 0 || i.health()[metav1.ConditionUnknown] != 1 {
		t.Errorf("after the wait: %v, %v, %v, want 1 Unknown", result, err, i.health())
	}

	for _, name := range names[1:] {
		i.publish(name, metav1.ConditionUnknown)
	}
	i.reconcileAll(names)
	i.step(unknownWait)
	for _, name := range names[1:] {
		if result, err := i.reconcile(name); err != nil || result.RequeueAfter != heldRetry {
			t.Errorf("%s: %v, %v, want another look", name, result, err)
		}
	}
	if got := i.health(); got[metav1.ConditionTrue] != 7 {
		t.Errorf("the health of the clusters is %v, want 7 True", got)
	}
	cluster := &clusterv1.ManagedCluster{}
	if err := i.hub.Get(t.Context(), client.ObjectKey{Name: names[1]}, cluster); err != nil {
		t.Fatal(err)
	}
	const message = "Many profiles of the inventory report no health. The cluster keeps what was last reported."
	if got := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1.ManagedClusterConditionAvailable); got.Message != message {
		t.Errorf("the message is %q", got.Message)
	}

	t.Log("the manager is back, and one cluster is not")
	for _, name := range names[2:] {
		i.publish(name, metav1.ConditionTrue)
	}
	i.step(heldRetry)
	i.reconcileAll(names)
	if got := i.health(); got[metav1.ConditionTrue] != 7 || got[metav1.ConditionUnknown] != 1 {
		t.Errorf("the health of the clusters is %v, want 7 True: the manager may report the last one in a moment", got)
	}
	i.step(unknownWait)
	i.reconcileAll(names)
	if got := i.health(); got[metav1.ConditionTrue] != 6 || got[metav1.ConditionUnknown] != 2 {
		t.Errorf("the health of the clusters is %v, want 6 True", got)
	}
}

// TestADeletionThatMustWaitReadsNothing has more missing profiles than may be deleted.
func TestADeletionThatMustWaitReadsNothing(t *testing.T) {
	names := named(12)
	i := newInventory(t, names...)
	i.delete(names[:4]...)
	i.reconcileAll(names)
	i.step(time.Hour)
	for _, name := range names[:4] {
		if result, err := i.reconcile(name); err != nil || result.RequeueAfter != heldRetry {
			t.Errorf("%s: %v, %v, want another look", name, result, err)
		}
	}
	if i.live.gets+i.live.lists != 0 || i.health()[metav1.ConditionTrue] != 12 {
		t.Errorf("%d gets and %d lists, %v, want none and no deletion", i.live.gets, i.live.lists, i.health())
	}

	t.Log("two return, and one deletion is permitted")
	i.publish(names[2], metav1.ConditionTrue)
	i.publish(names[3], metav1.ConditionTrue)
	i.reconcileAll(names[2:])
	i.step(countInterval)
	i.reconcileAll(names[:2])
	if i.live.gets != 1 || i.live.lists != 1 || i.health()[metav1.ConditionTrue] != 11 {
		t.Errorf("%d gets and %d lists, %v, want 1, 1 and 11 clusters", i.live.gets, i.live.lists, i.health())
	}
}

// behind is a cache that lacks a profile.
type behind struct {
	client.WithWatch

	lacks string
}

func (b behind) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	if _, ok := into.(*multiclusterv1alpha1.ClusterProfile); ok && key.Name == b.lacks {
		key.Name = "none"
	}
	return b.WithWatch.Get(ctx, key, into, options...)
}

// TestAProfileThatTheCacheLacksDeletesNothing has a profile that is back, which the cache has not observed.
func TestAProfileThatTheCacheLacksDeletesNothing(t *testing.T) {
	names := named(8)
	i := newInventory(t, names...)
	i.client = behind{i.hub, names[0]}
	i.reconcileAll(names)
	i.step(time.Hour)
	i.reconcileAll(names)
	if got := i.health(); got[metav1.ConditionTrue] != 8 || i.live.gets != 1 {
		t.Errorf("the health of the clusters is %v after %d reads, want 8 True after 1", got, i.live.gets)
	}
}

// TestAProfileCountsAsImportedOnceItIs has a name that no cluster may have, and a write that fails.
func TestAProfileCountsAsImportedOnceItIs(t *testing.T) {
	i := newInventory(t)
	i.publish("not.a-namespace", metav1.ConditionTrue)
	i.reconcileAll([]string{"not.a-namespace", "not.a-namespace"})
	if got := i.countStates(); got[stateBlocked] != 1 || len(i.events.Events) != 1 {
		t.Errorf("the states are %v with %d events, want 1 blocked and 1 event", got, len(i.events.Events))
	}
	i.fails = errBoom
	i.publishFails("a")
	if got := i.countStates(); got[stateImported] != 0 {
		t.Errorf("the states are %v, want none imported", got)
	}
	i.fails = nil
	i.reconcileAll([]string{"a"})
	if got := i.countStates(); got[stateImported] != 1 {
		t.Errorf("the states are %v, want 1 imported", got)
	}
}

// publishFails stores a profile whose cluster cannot be created.
func (i *inventory) publishFails(name string) {
	i.Helper()
	fails := i.fails
	i.fails = nil
	i.publish(name, metav1.ConditionTrue)
	i.fails = fails
	if _, err := i.reconcile(name); !errors.Is(err, errBoom) {
		i.Errorf("got %v, want %v", err, errBoom)
	}
}

// TestProfilesWithoutPropertiesKeepClaims removes the properties of one profile, and then of all, as a manager does that starts again or
// that writes its conditions first. Placements that select by claims keep their clusters.
func TestProfilesWithoutPropertiesKeepClaims(t *testing.T) {
	names := named(8)
	i := newInventory(t, names...)
	i.strip(names[0])
	if result, err := i.reconcile(names[0]); err != nil || result.RequeueAfter != unknownWait || i.withClaims() != 8 {
		t.Errorf("at first: %v, %v, %d with claims, want no change", result, err, i.withClaims())
	}
	i.publish(names[0], metav1.ConditionTrue)
	i.reconcileAll(names[:1])
	i.step(unknownWait)
	i.strip(names[0])
	i.reconcileAll(names[:1])
	if got := i.withClaims(); got != 8 {
		t.Errorf("a second loss removed the claims at once: %d have claims", got)
	}
	i.step(unknownWait)
	if result, err := i.reconcile(names[0]); err != nil || result.RequeueAfter != 0 || i.withClaims() != 7 {
		t.Errorf("after the wait: %v, %v, %d with claims, want 7", result, err, i.withClaims())
	}

	i.strip(names[1:]...)
	i.reconcileAll(names)
	i.step(unknownWait)
	for _, name := range names[1:] {
		if result, err := i.reconcile(name); err != nil || result.RequeueAfter != heldRetry {
			t.Errorf("%s: %v, %v, want another look", name, result, err)
		}
	}
	cluster := &clusterv1.ManagedCluster{}
	if err := i.hub.Get(t.Context(), client.ObjectKey{Name: names[1]}, cluster); err != nil {
		t.Fatal(err)
	}
	found := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1.ManagedClusterConditionInventoried)
	if i.withClaims() != 7 || !strings.Contains(found.Message, "keeps the claims") {
		t.Errorf("%d with claims, and the message %q", i.withClaims(), found.Message)
	}

	t.Log("the manager is back")
	for _, name := range names {
		i.publish(name, metav1.ConditionTrue)
	}
	i.step(heldRetry)
	i.reconcileAll(names)
	if got := i.withClaims(); got != 8 {
		t.Errorf("%d have claims after the manager is back", got)
	}
}
