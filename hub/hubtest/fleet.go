package hubtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
)

const (
	// fleetWorkers is how many goroutines run the agents of a fleet.
	fleetWorkers = 4
	// renewalsPerLease is how often an agent renews its lease within the lease's period: more
	// often than real agents, because a test may share its machine.
	renewalsPerLease = 4
	// joinTimeout limits the conflicts of a cluster that joins.
	joinTimeout = time.Minute
)

// FleetOptions configures a fleet. The zero value of a field is a sensible default.
type FleetOptions struct {
	// Clusters is the number of clusters.
	Clusters int
	// LeaseSeconds is the period of their leases, in seconds; 0 means 1. A cluster is
	// unreachable when it has been silent for five periods.
	LeaseSeconds int32
	// Labels returns the labels of a cluster by its number.
	Labels func(number int) map[string]string
	// ClockSkew is how far the clocks of the agents are ahead.
	ClockSkew time.Duration
}

// Fleet is a number of accepted, joined clusters, each with a namespace and an agent. The agent renews the lease of its cluster
// and reports the cluster's conditions. There is no cluster behind it. Fleet is safe for concurrent use.
type Fleet struct {
	client    client.Client
	clock     clock.PassiveClock
	prefix    string
	clockSkew time.Duration
	agents    []*agent
}

// agent is the agent of one cluster.
type agent struct {
	name string

	mu sync.Mutex
	// A stopped agent sends nothing. An unavailable agent reports that its cluster is not available.
	stopped, unavailable bool
	// lastErr is the error of the last heartbeat, or nil.
	lastErr error
}

// NewFleet stores a fleet and runs its agents until the end of the test, which removes the fleet. The caller starts a manager,
// which creates the leases.
func NewFleet(t testing.TB, hub *Hub, opts FleetOptions) *Fleet {
	t.Helper()
	types := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, clusterv1.AddToScheme} {
		if err := add(types); err != nil {
			t.Fatal(err)
		}
	}
	to, err := client.New(hub.Config(), client.Options{Scheme: types})
	if err != nil {
		t.Fatal(err)
	}
	f := &Fleet{client: to, clock: clock.RealClock{}, prefix: hub.Namespace(t), clockSkew: opts.ClockSkew}
	opts.LeaseSeconds = max(opts.LeaseSeconds, 1)
	for number := range opts.Clusters {
		f.join(t, number, opts)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var living sync.WaitGroup
	period := time.Duration(opts.LeaseSeconds) * time.Second / renewalsPerLease
	for crew := range fleetWorkers {
		living.Go(func() { wait.UntilWithContext(ctx, func(ctx context.Context) { f.runAgents(ctx, crew) }, period) })
	}
	t.Cleanup(func() {
		stop()
		living.Wait()
		f.remove(t)
	})
	return f
}

// join stores a cluster that is available, with its namespace.
func (f *Fleet) join(t testing.TB, number int, opts FleetOptions) {
	t.Helper()
	name := f.Name(number)
	cluster := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
	cluster.Spec.LeaseDurationSeconds, cluster.Spec.HubAcceptsClient = opts.LeaseSeconds, true
	if opts.Labels != nil {
		cluster.Labels = maps.Clone(opts.Labels(number))
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{clusterv1.ClusterNameLabelKey: name}}}
	for _, object := range []client.Object{namespace, cluster} {
		if err := f.client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	Eventually(t, joinTimeout, func(ctx context.Context) error {
		for _, condition := range []metav1.Condition{
			{Type: clusterv1.ManagedClusterConditionHubAccepted, Status: metav1.ConditionTrue, Reason: clusterv1.ReasonHubClusterAdminAccepted},
			{Type: clusterv1.ManagedClusterConditionJoined, Status: metav1.ConditionTrue, Reason: clusterv1.ReasonManagedClusterJoined},
			availableCondition(false),
		} {
			meta.SetStatusCondition(&cluster.Status.Conditions, condition)
		}
		err := f.client.Status().Update(ctx, cluster)
		if apierrors.IsConflict(err) { // a manager that runs already has changed the cluster
			err = errors.Join(err, f.client.Get(ctx, client.ObjectKeyFromObject(cluster), cluster))
		}
		return err
	})
	f.agents = append(f.agents, &agent{name: name})
}

// availableCondition is the condition that an agent reports.
func availableCondition(unavailable bool) metav1.Condition {
	if unavailable {
		return metav1.Condition{
			Type: clusterv1.ManagedClusterConditionAvailable, Status: metav1.ConditionFalse,
			Reason: clusterv1.ReasonManagedClusterKubeAPIServerUnavailable, Message: "The API server answers 500",
		}
	}
	return metav1.Condition{
		Type: clusterv1.ManagedClusterConditionAvailable, Status: metav1.ConditionTrue,
		Reason: clusterv1.ReasonManagedClusterAvailable, Message: "Managed cluster is available",
	}
}

// remove deletes the clusters and their namespaces, without waiting for that.
func (f *Fleet) remove(t testing.TB) {
	ctx := context.WithoutCancel(t.Context())
	for _, a := range f.agents {
		if t.Failed() && a.lastErr != nil {
			t.Logf("the last heartbeat of %s failed: %v", a.name, a.lastErr)
		}
		// A test may have stopped the hub, and then its objects are gone too.
		_ = f.client.Delete(ctx, &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: a.name}})
		_ = f.client.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: a.name}})
	}
}

// Name returns the name of a cluster by its number. Names and numbers have the same order.
func (f *Fleet) Name(number int) string { return fmt.Sprintf("%s-%04d", f.prefix, number) }

// Number returns the number of a cluster by its name, or -1 for a cluster of another fleet.
func (f *Fleet) Number(name string) int {
	return slices.IndexFunc(f.agents, func(a *agent) bool { return a.name == name })
}

// StopAgents stops the agents of some clusters. After it returns, they send nothing.
func (f *Fleet) StopAgents(numbers ...int) {
	for _, number := range numbers {
		f.agents[number].setState(true, false)
	}
}

// StartAgents starts the agents of some clusters again. They report that the clusters are available.
func (f *Fleet) StartAgents(numbers ...int) {
	for _, number := range numbers {
		f.agents[number].setState(false, false)
	}
}

// ReportUnavailable makes the agents of some clusters report that the clusters are not available.
func (f *Fleet) ReportUnavailable(numbers ...int) {
	for _, number := range numbers {
		f.agents[number].setState(false, true)
	}
}

func (a *agent) setState(stopped, unavailable bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stopped, a.unavailable = stopped, unavailable
}

// runAgents sends the heartbeats of the agents of one worker.
func (f *Fleet) runAgents(ctx context.Context, crew int) {
	for number := crew; number < len(f.agents); number += fleetWorkers {
		f.agents[number].heartbeat(ctx, f.client, f.clock.Now().Add(f.clockSkew))
	}
}

// heartbeat renews the lease and corrects the conditions. It retries later when the hub does not respond or has created no
// lease yet.
func (a *agent) heartbeat(ctx context.Context, hub client.Client, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.stopped {
		return
	}
	if a.lastErr = a.renew(ctx, hub, now); a.lastErr == nil {
		a.lastErr = a.report(ctx, hub)
	}
}

func (a *agent) renew(ctx context.Context, hub client.Client, now time.Time) error {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: a.name, Name: clusterv1.ManagedClusterLeaseName}}
	renewal := fmt.Appendf(nil, `{"spec":{"renewTime":%q}}`, now.UTC().Format(metav1.RFC3339Micro))
	return client.IgnoreNotFound(hub.Patch(ctx, lease, client.RawPatch("application/merge-patch+json", renewal)))
}

func (a *agent) report(ctx context.Context, hub client.Client) error {
	cluster := &clusterv1.ManagedCluster{}
	if err := hub.Get(ctx, client.ObjectKey{Name: a.name}, cluster); err != nil {
		return client.IgnoreNotFound(err)
	}
	if !meta.SetStatusCondition(&cluster.Status.Conditions, availableCondition(a.unavailable)) {
		return nil
	}
	if err := hub.Status().Update(ctx, cluster); err != nil && !apierrors.IsConflict(err) {
		return fmt.Errorf("reporting on %s: %w", a.name, err)
	}
	return nil
}
