package registration

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// testHub is a hub without clusters, and a namespace that may select any.
type testHub struct {
	*kit.Client
	t         *testing.T
	namespace string
}

func newTestHub(t *testing.T) *testHub {
	t.Helper()
	s := &testHub{Client: kit.New(t, shared), t: t, namespace: shared.Namespace(t)}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		// The next test must not read the conditions of the set.
		err := errors.Join(s.DeleteAllOf(ctx, &clusterv1.ManagedCluster{}), client.IgnoreNotFound(s.Delete(ctx, kit.GlobalSet())))
		if err != nil {
			t.Errorf("cleaning up: %v", err)
		}
	})
	return s
}

// start starts a manager with default flags, and waits for its webhooks.
func (t *testHub) start(args ...string) *hubtest.Manager {
	t.t.Helper()
	out := hubtest.StartManager(t.t, shared, hubtest.ManagerOptions{Webhooks: true, AllowErrors: true, TaintUnjoined: true, Args: args})
	t.AwaitWebhooks()
	return out
}

// awaitUnjoinedCondition waits until the condition of the set `global` about clusters that never joined has a status and a reason. It
// returns the message.
func (t *testHub) awaitUnjoinedCondition(status metav1.ConditionStatus, reason string) string {
	t.t.Helper()
	return t.AwaitCondition(kit.GlobalSet(), clusterv1beta2.ManagedClusterSetConditionUnjoinedTainted, status, reason).Message
}

// cluster stores an accepted cluster that was never reported.
func (t *testHub) cluster(name string, changes ...func(*clusterv1.ManagedCluster)) *clusterv1.ManagedCluster {
	t.t.Helper()
	out := kit.AcceptedCluster(name)
	for _, change := range changes {
		change(out)
	}
	t.AwaitCreated(out)
	return out
}

func simulated(cluster *clusterv1.ManagedCluster) {
	cluster.Annotations = map[string]string{clusterv1.SimulatedAnnotationKey: "true"}
}

// stored returns a cluster as it is stored.
func (t *testHub) stored(ctx context.Context, name string) *clusterv1.ManagedCluster {
	t.t.Helper()
	out := &clusterv1.ManagedCluster{}
	kit.NoError(t.t, t.Get(ctx, client.ObjectKey{Name: name}, out))
	return out
}

// report writes the status of an available cluster, as its agent does.
func (t *testHub) report(name string) {
	t.t.Helper()
	cluster := t.stored(t.t.Context(), name)
	before := cluster.DeepCopy()
	for _, kind := range []string{clusterv1.ManagedClusterConditionJoined, clusterv1.ManagedClusterConditionAvailable} {
		meta.SetStatusCondition(&cluster.Status.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: "Agent"})
	}
	t.MustPatchStatus(cluster, client.MergeFrom(before))
}

// setAccepted accepts or denies a cluster.
func (t *testHub) setAccepted(name string, accepts bool) {
	t.t.Helper()
	cluster := t.stored(t.t.Context(), name)
	before := cluster.DeepCopy()
	cluster.Spec.HubAcceptsClient = accepts
	t.MustPatch(cluster, client.MergeFrom(before))
}

func taints(cluster *clusterv1.ManagedCluster) (out []string) {
	for _, taint := range cluster.Spec.Taints {
		out = append(out, taint.Key)
	}
	return out
}

// placement stores a placement that selects every cluster.
func (t *testHub) placement() {
	t.t.Helper()
	t.AwaitCreated(kit.Binding(t.namespace, clusterv1beta2.GlobalClusterSetName), kit.Placement(t.namespace, "all"))
}

// recordSlices records the clusters in the slices of the namespace. It returns a function that waits until they include a given cluster,
// and returns them all.
func (t *testHub) recordSlices() func(last string) []string {
	t.t.Helper()
	watching := kit.Must(t.Watch(t.t.Context(), &clusterv1beta1.PlacementDecisionList{}, client.InNamespace(t.namespace))).In(t.t)
	t.t.Cleanup(watching.Stop)
	var mu sync.Mutex
	named := map[string]bool{}
	go func() {
		for event := range watching.ResultChan() {
			slice, ok := event.Object.(*clusterv1beta1.PlacementDecision)
			if !ok {
				continue
			}
			mu.Lock()
			for _, decision := range slice.Status.Decisions {
				named[decision.ClusterName] = true
			}
			mu.Unlock()
		}
	}()
	return func(last string) (out []string) {
		t.t.Helper()
		t.Await("they include a given cluster, and returns them all", func(context.Context) error {
			mu.Lock()
			defer mu.Unlock()
			if !named[last] {
				return fmt.Errorf("the watch has not shown %s", last)
			}
			out = slices.Sorted(maps.Keys(named))
			return nil
		})
		return out
	}
}
