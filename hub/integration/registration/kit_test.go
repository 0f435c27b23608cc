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
func (s *testHub) start(args ...string) *hubtest.Manager {
	s.t.Helper()
	out := hubtest.StartManager(s.t, shared, hubtest.ManagerOptions{Webhooks: true, AllowErrors: true, TaintUnjoined: true, Args: args})
	s.AwaitWebhooks()
	return out
}

// awaitUnjoinedCondition waits until the condition of the set `global` about clusters that never joined has a status and a reason. It
// returns the message.
func (s *testHub) awaitUnjoinedCondition(status metav1.ConditionStatus, reason string) string {
	s.t.Helper()
	return s.AwaitCondition(kit.GlobalSet(), clusterv1beta2.ManagedClusterSetConditionUnjoinedTainted, status, reason).Message
}

// cluster stores an accepted cluster that was never reported.
func (s *testHub) cluster(name string, changes ...func(*clusterv1.ManagedCluster)) *clusterv1.ManagedCluster {
	s.t.Helper()
	out := kit.AcceptedCluster(name)
	for _, change := range changes {
		change(out)
	}
	s.AwaitCreated(out)
	return out
}

func simulated(cluster *clusterv1.ManagedCluster) {
	cluster.Annotations = map[string]string{clusterv1.SimulatedAnnotationKey: "true"}
}

// stored returns a cluster as it is stored.
func (s *testHub) stored(ctx context.Context, name string) *clusterv1.ManagedCluster {
	s.t.Helper()
	out := &clusterv1.ManagedCluster{}
	kit.NoError(s.t, s.Get(ctx, client.ObjectKey{Name: name}, out))
	return out
}

// report writes the status of an available cluster, as its agent does.
func (s *testHub) report(name string) {
	s.t.Helper()
	cluster := s.stored(s.t.Context(), name)
	before := cluster.DeepCopy()
	for _, kind := range []string{clusterv1.ManagedClusterConditionJoined, clusterv1.ManagedClusterConditionAvailable} {
		meta.SetStatusCondition(&cluster.Status.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: "Agent"})
	}
	s.MustPatchStatus(cluster, client.MergeFrom(before))
}

// setAccepted accepts or denies a cluster.
func (s *testHub) setAccepted(name string, accepts bool) {
	s.t.Helper()
	cluster := s.stored(s.t.Context(), name)
	before := cluster.DeepCopy()
	cluster.Spec.HubAcceptsClient = accepts
	s.MustPatch(cluster, client.MergeFrom(before))
}

func taints(cluster *clusterv1.ManagedCluster) (out []string) {
	for _, taint := range cluster.Spec.Taints {
		out = append(out, taint.Key)
	}
	return out
}

// placement stores a placement that selects every cluster.
func (s *testHub) placement() {
	s.t.Helper()
	s.AwaitCreated(kit.Binding(s.namespace, clusterv1beta2.GlobalClusterSetName), kit.Placement(s.namespace, "all"))
}

// recordSlices records the clusters in the slices of the namespace. It returns a function that waits until they include a given cluster,
// and returns them all.
func (s *testHub) recordSlices() func(last string) []string {
	s.t.Helper()
	watching := kit.Must(s.Watch(s.t.Context(), &clusterv1beta1.PlacementDecisionList{}, client.InNamespace(s.namespace))).In(s.t)
	s.t.Cleanup(watching.Stop)
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
		s.t.Helper()
		s.Await("they include a given cluster, and returns them all", func(context.Context) error {
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
