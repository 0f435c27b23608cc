package failover

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// testFleet is a fleet, a namespace that may select from it, and the manager of its hub.
type testFleet struct {
	*kit.Client
	*hubtest.Fleet
	t         *testing.T
	manager   *hubtest.Manager
	namespace string
}

// northClusters is the number of clusters in the region "north". They have the lowest numbers.
const northClusters = 3

func region(number int) map[string]string {
	if number < northClusters {
		return map[string]string{"region": "north"}
	}
	return map[string]string{"region": "south"}
}

// newTestFleet starts a manager and a fleet, and waits until the manager has created the leases.
func newTestFleet(t *testing.T, clusters int) *testFleet {
	t.Helper()
	s := &testFleet{Client: kit.New(t, shared), t: t, namespace: shared.Namespace(t)}
	s.cleanUp()
	s.start()
	s.Fleet = hubtest.NewFleet(t, shared, hubtest.FleetOptions{Clusters: clusters, LeaseSeconds: leaseSeconds, Labels: region})
	s.AwaitCreated(kit.Binding(s.namespace, clusterv1beta2.GlobalClusterSetName))
	s.Await("the manager has created the leases", func(ctx context.Context) error {
		for number := range clusters {
			held := &coordinationv1.Lease{}
			if err := s.Get(ctx, client.ObjectKey{Namespace: s.Name(number), Name: clusterv1.ManagedClusterLeaseName}, held); err != nil {
				return err
			}
		}
		return nil
	})
	return s
}

// start runs a manager with all controllers, and waits for its webhooks.
func (t *testFleet) start() {
	t.t.Helper()
	t.manager = hubtest.StartManager(t.t, shared, hubtest.ManagerOptions{Webhooks: true, AllowErrors: true})
	t.AwaitWebhooks()
}

// restart kills the manager and starts another.
func (t *testFleet) restart() {
	t.t.Helper()
	t.manager.Kill()
	t.start()
}

// cleanUp waits until the clusters and namespaces of the previous test are deleted, and deletes its events.
func (t *testFleet) cleanUp() {
	t.t.Helper()
	t.Await("the clusters and namespaces of the previous test are deleted, and deletes its events", func(ctx context.Context) error {
		clusters, namespaces := &clusterv1.ManagedClusterList{}, &corev1.NamespaceList{}
		if err := errors.Join(t.List(ctx, clusters), t.List(ctx, namespaces)); err != nil || len(clusters.Items) > 0 {
			return errors.Join(fmt.Errorf("%d clusters are left", len(clusters.Items)), err)
		}
		for _, namespace := range namespaces.Items {
			if !namespace.DeletionTimestamp.IsZero() {
				return fmt.Errorf("namespace %s is left", namespace.Name)
			}
		}
		return nil
	})
	set := kit.GlobalSet()
	t.MustDeleteExisting(set)
}

// placement stores a placement with a number of clusters. It tolerates a failing cluster for a number of seconds.
func (t *testFleet) placement(name string, number int32, tolerated int64, changes ...func(*clusterv1beta1.PlacementSpec)) {
	t.t.Helper()
	out := kit.Placement(t.namespace, name)
	out.Spec.NumberOfClusters = &number
	for _, key := range []string{clusterv1.ManagedClusterTaintUnreachable, clusterv1.ManagedClusterTaintUnavailable} {
		out.Spec.Tolerations = append(out.Spec.Tolerations, clusterv1beta1.Toleration{
			Key: key, Operator: clusterv1beta1.TolerationOpExists, TolerationSeconds: &tolerated,
		})
	}
	for _, change := range changes {
		change(&out.Spec)
	}
	t.AwaitCreated(out)
	t.Await("the placement has selected its number of clusters", func(ctx context.Context) error {
		got, err := t.Selected(ctx, t.namespace, name)
		if err != nil || len(got) != int(number) {
			return errors.Join(fmt.Errorf("placement %s has selected %v", name, got), err)
		}
		return nil
	})
}

func (t *testFleet) cluster(ctx context.Context, number int) (*clusterv1.ManagedCluster, error) {
	out := &clusterv1.ManagedCluster{}
	err := t.Get(ctx, client.ObjectKey{Name: t.Name(number)}, out)
	return out, err
}

// awaitTaint waits until a cluster has exactly one taint, and returns the time of the taint. With an empty key it waits until the
// cluster has no taint.
func (t *testFleet) awaitTaint(number int, key string) time.Time {
	t.t.Helper()
	var since time.Time
	t.Await("a cluster has exactly one taint", func(ctx context.Context) error {
		cluster, err := t.cluster(ctx, number)
		if err != nil {
			return err
		}
		taints := cluster.Spec.Taints
		switch {
		case key == "" && len(taints) == 0:
			return nil
		case len(taints) == 1 && taints[0].Key == key && taints[0].Effect == clusterv1.TaintEffectNoSelect:
			since = taints[0].TimeAdded.Time
			return nil
		default:
			return fmt.Errorf("%s has the taints %v, want %q", cluster.Name, taints, key)
		}
	})
	return since
}

// available returns the condition Available of a cluster.
func (t *testFleet) available(number int) metav1.Condition {
	t.t.Helper()
	return kit.Condition(kit.Must(t.cluster(t.t.Context(), number)).In(t.t), clusterv1.ManagedClusterConditionAvailable)
}

// awaitSuspended waits until the set `global` reports whether evictions are suspended, and returns the condition.
func (t *testFleet) awaitSuspended(status metav1.ConditionStatus) metav1.Condition {
	t.t.Helper()
	return t.AwaitCondition(kit.GlobalSet(), clusterv1beta2.ManagedClusterSetConditionHealthSuspended, status, "")
}

// awaitEvent waits until an object has exactly one event of a reason.
func (t *testFleet) awaitEvent(namespace, name, reason string) {
	t.t.Helper()
	t.Await("an object has exactly one event of a reason", func(ctx context.Context) error {
		list := &eventsv1.EventList{}
		if err := t.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return err
		}
		times := 0
		for _, event := range list.Items {
			if event.Regarding.Name != name || event.Reason != reason {
				continue
			}
			times++
			if event.Series != nil {
				times += int(event.Series.Count) - 1
			}
		}
		if times != 1 {
			return fmt.Errorf("event %s of %s: %d times, want once", reason, name, times)
		}
		return nil
	})
}

// versions returns the resource version of every object that a failover may change, by kind and name.
func (t *testFleet) versions() map[string]string {
	t.t.Helper()
	out := map[string]string{}
	for _, list := range []client.ObjectList{
		&clusterv1.ManagedClusterList{}, &clusterv1beta2.ManagedClusterSetList{}, &clusterv1beta1.PlacementList{},
		&clusterv1beta1.PlacementDecisionList{},
	} {
		t.MustList(list)
		items := kit.Must(meta.ExtractList(list)).In(t.t)
		for _, item := range items {
			object := item.(client.Object)
			out[fmt.Sprintf("%T %s", item, client.ObjectKeyFromObject(object))] = object.GetResourceVersion()
		}
	}
	return out
}

// awaitGraceOver waits until the grace periods of some clusters are over, and the manager has reconciled the clusters.
func (t *testFleet) awaitGraceOver(numbers ...int) {
	t.t.Helper()
	begun := time.Now()
	t.Await("the grace periods of some clusters are over, and the manager has reconciled the clusters", func(ctx context.Context) error {
		over := begun.Add(grace)
		for _, number := range numbers {
			held := &coordinationv1.Lease{}
			if err := t.Get(ctx, client.ObjectKey{Namespace: t.Name(number), Name: clusterv1.ManagedClusterLeaseName}, held); err != nil {
				return err
			}
			if end := held.Spec.RenewTime.Add(grace); end.After(over) {
				over = end
			}
		}
		if left := time.Until(over.Add(time.Second)); left > 0 {
			return fmt.Errorf("there are %s left", left)
		}
		read, err := t.manager.ReadMetrics(ctx)
		if err != nil {
			return err
		}
		if waiting := read.Sum("workqueue_depth", `controller="health"`) +
			read.Sum("controller_runtime_active_workers", `controller="health"`); waiting > 0 {
			return fmt.Errorf("%v clusters are waiting", waiting)
		}
		return nil
	})
}

// writes counts the completed writes of the API server, by verb and resource. It leaves out the heartbeats of agents, and the
// webhook configurations and the conversion of definitions, which the manager updates from time to time.
func (t *testFleet) writes() map[string]float64 {
	t.t.Helper()
	return hubtest.Writes(shared.ReadMetrics(t.t), func(_, resource string) bool {
		return resource != "leases" && resource != "customresourcedefinitions" && !strings.HasSuffix(resource, "webhookconfigurations")
	})
}
