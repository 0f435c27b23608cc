package health

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/client_golang/prometheus"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/internal/kube/when"
)

// loop is the controller on a hub that holds some objects. Its cache holds what the test shows it.
type loop struct {
	*reconciler
	clock *testclock.FakePassiveClock
	// events are the events: namespace, name and reason.
	events []string
	// writes counts the writes.
	writes int
}

// newLoop returns a loop that started an hour before noon and has observed every object. Intercepted writes count too.
func newLoop(t *testing.T, intercept interceptor.Funcs, objects ...client.Object) *loop {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clusterv1.AddToScheme(scheme), clusterv1beta1.AddToScheme(scheme), clusterv1beta2.AddToScheme(scheme),
		coordinationv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	l := &loop{clock: testclock.NewFakePassiveClock(noon)}
	hub := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithStatusSubresource(&clusterv1.ManagedCluster{}, &clusterv1beta2.ManagedClusterSet{}).WithInterceptorFuncs(intercept).Build()
	l.start(interceptor.NewClient(hub, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			l.writes++
			return c.Patch(ctx, o, p, opts...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch,
			opts ...client.SubResourcePatchOption,
		) error {
			l.writes++
			return c.SubResource(sub).Patch(ctx, o, p, opts...)
		},
		Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			l.writes++
			return c.Apply(ctx, o, opts...)
		},
	}), nil)
	l.showClusters(t)
	l.cache.start(noon.Add(-time.Hour))
	l.show(t)
	return l
}

// start restarts the loop: its cache is empty, and the first pass has not begun.
func (l *loop) start(hub client.Client, enqueue func(string)) {
	h := newHealthCache(55, false)
	if enqueue != nil {
		h.enqueue = enqueue
	}
	l.reconciler = &reconciler{
		client: hub, live: hub, cache: h, unjoined: TaintReportedOnly, clock: l.clock, metrics: NewMetrics(prometheus.NewRegistry(), h.state),
		recorder:  eventRecorder{&l.events},
		conflicts: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](minConflictRetry, maxConflictRetry),
	}
}

// show lets the loop observe every stored object.
func (l *loop) show(t *testing.T) {
	t.Helper()
	l.showClusters(t)
	var leases coordinationv1.LeaseList
	var sets clusterv1beta2.ManagedClusterSetList
	ctx := context.WithoutCancel(t.Context())
	if err := errors.Join(l.client.List(ctx, &leases), l.client.List(ctx, &sets)); err != nil {
		t.Fatal(err)
	}
	for _, lease := range leases.Items { // each is observed when it was renewed
		l.cache.setLease(lease.Namespace, renewTime(&lease), when.NotAfter(renewTime(&lease), l.clock.Now()))
	}
	s := source{health: l.cache, clock: l.clock}
	for i := range sets.Items {
		s.setSet(&sets.Items[i])
	}
}

// showClusters lets the loop observe the stored clusters only.
func (l *loop) showClusters(t *testing.T) {
	t.Helper()
	var clusters clusterv1.ManagedClusterList
	if err := l.client.List(context.WithoutCancel(t.Context()), &clusters); err != nil {
		t.Fatal(err)
	}
	for i := range clusters.Items {
		l.cache.setCluster(&clusters.Items[i], l.clock.Now())
	}
}

type eventRecorder struct{ events *[]string }

func (r eventRecorder) Eventf(regarding, _ runtime.Object, _, reason, _, note string, args ...any) {
	object, err := meta.Accessor(regarding)
	if err != nil || fmt.Sprintf(note, args...) == "" {
		panic(fmt.Sprintf("no event: %v", err))
	}
	*r.events = append(*r.events, object.GetNamespace()+"/"+object.GetName()+" "+reason)
}

func (l *loop) run(t *testing.T, name string) (reconcile.Result, error) {
	t.Helper()
	return l.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKey{Name: name}})
}

// renew renews the lease of a cluster, and lets the loop observe it.
func (l *loop) renew(t *testing.T, name string) {
	t.Helper()
	lease := lease(name, 0)
	if err := l.client.Get(t.Context(), client.ObjectKeyFromObject(lease), lease); err != nil {
		t.Fatal(err)
	}
	lease.Spec.RenewTime = &metav1.MicroTime{Time: l.clock.Now()}
	if err := l.client.Update(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
	l.show(t)
}

// stored returns the reported health of a cluster and its taints, as stored.
func (l *loop) stored(t *testing.T, name string) string {
	t.Helper()
	out := &clusterv1.ManagedCluster{}
	if err := l.client.Get(t.Context(), client.ObjectKey{Name: name}, out); err != nil {
		t.Fatal(err)
	}
	return string(readFacts(out, false).available) + "; " + taintText(out.Spec.Taints)
}

// TestOutage goes through an outage. It takes two writes to begin, and one event.
func TestOutage(t *testing.T) {
	l := newLoop(t, interceptor.Funcs{}, healthyCluster("c").Obj(), lease("c", testGrace-time.Second))
	step := func(when, want string, writes int, again time.Duration, events ...string) {
		t.Helper()
		for range 2 { // the second reconcile writes nothing
			result, err := l.run(t, "c")
			if err != nil || result.RequeueAfter != again {
				t.Errorf("%s: requeue after %s, error %v, want %s", when, result.RequeueAfter, err, again)
			}
			l.show(t)
		}
		if got := l.stored(t, "c"); got != want || l.writes != writes {
			t.Errorf("%s: %s after %d writes, want %s after %d", when, got, l.writes, want, writes)
		}
		if diff := cmp.Diff(events, l.events); diff != "" {
			t.Errorf("%s: events (-want +got):\n%s", when, diff)
		}
		l.events = nil
	}
	report := func(status string) {
		t.Helper()
		stored := &clusterv1.ManagedCluster{}
		if err := l.client.Get(t.Context(), client.ObjectKey{Name: "c"}, stored); err != nil {
			t.Fatal(err)
		}
		if err := l.client.Status().Update(t.Context(), builder{stored}.conditionSince(available, status, l.clock.Now()).Obj()); err != nil {
			t.Fatal(err)
		}
		l.renew(t, "c")
	}
	step("before its grace period ends", "True; none", 0, time.Second)
	l.clock.SetTime(noon.Add(time.Second))
	step("when its grace period ends", "Unknown; unreachable since -1s", 2, 0, "c/c AvailableUnknown")
	l.clock.SetTime(noon.Add(time.Minute))
	report("False")
	step("when it reports that it is not available", "False; unavailable since -1s", 3, testGrace, "c/c Unavailable")
	l.clock.SetTime(noon.Add(time.Hour))
	step("when it is silent again", "Unknown; unreachable since -1s", 5, 0, "c/c AvailableUnknown")
	report("True")
	step("when it is available again", "True; none", 6, testGrace, "c/c Available")
}

// TestReportedHealth checks the stored conditions of a silent cluster.
func TestReportedHealth(t *testing.T) {
	l := newLoop(t, interceptor.Funcs{}, healthyCluster("c").Obj(), lease("c", time.Hour))
	if _, err := l.run(t, "c"); err != nil {
		t.Fatal(err)
	}
	stored := &clusterv1.ManagedCluster{}
	if err := l.client.Get(t.Context(), client.ObjectKey{Name: "c"}, stored); err != nil {
		t.Fatal(err)
	}
	want := append(slices.Clone(healthyCluster("c").Status.Conditions[:2]), metav1.Condition{
		Type: "ManagedClusterConditionAvailable", Status: "Unknown", Reason: "ManagedClusterLeaseUpdateStopped",
		Message: "Registration agent stopped updating its lease.", LastTransitionTime: metav1.NewTime(noon),
	})
	same := cmp.Comparer(func(a, b metav1.Time) bool { return a.Equal(&b) })
	if diff := cmp.Diff(want, stored.Status.Conditions, same); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
}

func TestLeaseIsCreated(t *testing.T) {
	l := newLoop(t, interceptor.Funcs{}, healthyCluster("c").Obj())
	if result, err := l.run(t, "c"); err != nil || result.RequeueAfter != 0 {
		t.Errorf("requeue after %s, error %v: the event of the lease enqueues the cluster", result.RequeueAfter, err)
	}
	got := &coordinationv1.Lease{}
	if err := l.client.Get(t.Context(), client.ObjectKey{Namespace: "c", Name: "managed-cluster-lease"}, got); err != nil {
		t.Fatal(err)
	}
	want := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "c", Name: "managed-cluster-lease",
			Labels: map[string]string{"open-cluster-management.io/cluster-name": "c"},
		},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: new("managed-cluster-lease"), RenewTime: &metav1.MicroTime{Time: noon}},
	}
	same := cmp.Comparer(func(a, b *metav1.MicroTime) bool { return a.Equal(b) })
	if diff := cmp.Diff(want, got, same, cmpopts.IgnoreFields(metav1.ObjectMeta{}, "ResourceVersion", "ManagedFields"),
		cmpopts.IgnoreFields(metav1.TypeMeta{}, "Kind", "APIVersion")); diff != "" {
		t.Errorf("lease (-want +got):\n%s", diff)
	}
	l.show(t)
	if result, err := l.run(t, "c"); err != nil || result.RequeueAfter != testGrace || l.writes != 1 {
		t.Errorf("requeue after %s, error %v, %d writes, want %s and one write", result.RequeueAfter, err, l.writes, testGrace)
	}
}

func TestLeaseCannotBeCreated(t *testing.T) {
	leases := schema.GroupResource{Group: coordinationv1.GroupName, Resource: "leases"}
	refused := apierrors.NewForbidden(leases, "l", errBoom)
	terminating := apierrors.NewForbidden(leases, "l", errBoom)
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	for sentence, test := range map[string]struct {
		refusal error
		want    error
		again   time.Duration
	}{
		"the namespace is missing":       {apierrors.NewNotFound(leases, "l"), nil, testGrace},
		"the namespace is being deleted": {terminating, nil, testGrace},
		"an agent owns the lease":        {apierrors.NewConflict(leases, "l", errBoom), nil, 0},
		"the manager has no permission":  {refused, refused, 0},
		"another error":                  {errBoom, errBoom, 0},
	} {
		t.Run(sentence, func(t *testing.T) {
			l := newLoop(t, interceptor.Funcs{Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration,
				...client.ApplyOption,
			) error {
				return test.refusal
			}}, cluster("c").condition(accepted, "True").condition(available, "False").Obj())
			result, err := l.run(t, "c")
			if !errors.Is(err, test.want) || result.RequeueAfter != test.again {
				t.Errorf("requeue after %s, error %v, want %s, %v", result.RequeueAfter, err, test.again, test.want)
			}
			if got := l.stored(t, "c"); got != "False; unavailable since 0s" {
				t.Errorf("the cluster is %s: it is not tainted because its lease cannot be created", got)
			}
		})
	}
}

func TestFailures(t *testing.T) {
	refusing := func(err error, resource string) interceptor.Funcs {
		return interceptor.Funcs{
			Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
				if resource == "taints" {
					return err
				}
				return c.Patch(ctx, o, p, opts...)
			},
			SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch,
				opts ...client.SubResourcePatchOption,
			) error {
				if resource == fmt.Sprintf("%T", o) {
					return err
				}
				return c.SubResource(sub).Patch(ctx, o, p, opts...)
			},
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
				if resource == "reading" && key.Name == clusterv1beta2.GlobalClusterSetName {
					return err
				}
				return c.Get(ctx, key, o, opts...)
			},
		}
	}
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "managedclusters"}, "c", errBoom)
	const status, set = "*v1.ManagedCluster", "*v1beta2.ManagedClusterSet"
	for sentence, test := range map[string]struct {
		refusal        error
		resource, name string
		want           error
		stored         string
		events         []string
	}{
		"of the status":          {errBoom, status, "c", errBoom, "True; none", nil},
		"of the taint":           {errBoom, "taints", "c", errBoom, "Unknown; none", []string{"c/c AvailableUnknown"}},
		"of reading the set":     {errBoom, "reading", fleetRequest, errBoom, "True; none", nil},
		"of writing to the set":  {errBoom, set, fleetRequest, errBoom, "True; none", nil},
		"a conflict on a status": {conflict, status, "c", nil, "True; none", nil},
		"a conflict on a taint":  {conflict, "taints", "c", nil, "Unknown; none", []string{"c/c AvailableUnknown"}},
		"a conflict on the set":  {conflict, set, fleetRequest, nil, "True; none", nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			l := newLoop(t, refusing(test.refusal, test.resource), healthyCluster("c").Obj(), lease("c", time.Hour), globalSet())
			if test.name == fleetRequest {
				l.cache.disruption = &fullDisruption{condition: metav1.Condition{
					Type:   clusterv1beta2.ManagedClusterSetConditionHealthSuspended,
					Status: "True", Reason: "Test",
				}}
				for _, b := range repeat(5, healthyCluster("silent")) {
					l.cache.observe(b, time.Hour)
				}
			}
			result, err := l.run(t, test.name)
			if !errors.Is(err, test.want) || (test.want == nil) != (result.RequeueAfter == minConflictRetry) {
				t.Errorf("requeue after %s, error %v, want %v, or a retry after a conflict", result.RequeueAfter, err, test.want)
			}
			if got := l.stored(t, "c"); got != test.stored {
				t.Errorf("the cluster is %s, want %s", got, test.stored)
			}
			if diff := cmp.Diff(test.events, l.events); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDeletedClusterIsNoError(t *testing.T) {
	l := newLoop(t, interceptor.Funcs{}, lease("c", time.Hour))
	if result, err := l.run(t, "c"); err != nil || result.RequeueAfter != 0 {
		t.Errorf("requeue after %s, error %v", result.RequeueAfter, err)
	}
}

func TestEventNamespace(t *testing.T) {
	for sentence, test := range map[string]struct {
		b       builder
		objects []client.Object
		want    []string
	}{
		"in the namespace of the cluster": {
			healthyCluster("c"),
			[]client.Object{lease("c", time.Hour)},
			[]string{"c/c AvailableUnknown"},
		},
		"without a namespace if it has no lease":         {cluster("c").condition(available, "False"), nil, []string{"/c Unavailable"}},
		"not emitted while the cluster is being deleted": {healthyCluster("c").terminating(), []client.Object{lease("c", time.Hour)}, nil},
		"not emitted before the first report":            {cluster("c").condition(accepted, "True"), []client.Object{lease("c", 0)}, nil},
		"not emitted if another client has reported it":  {cluster("c").condition(available, "Unknown"), nil, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			l := newLoop(t, interceptor.Funcs{}, append(test.objects, test.b.Obj())...)
			l.cache.unjoined.mode = modeAll
			if _, err := l.run(t, "c"); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, l.events); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			if l.writes == 0 {
				t.Error("nothing was written")
			}
		})
	}
}
