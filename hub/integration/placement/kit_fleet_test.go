package placement

import (
	"context"
	"fmt"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// fleet is a namespace with a cluster set of the same name that is bound to it. The names of its clusters begin with
// the namespace's name, and are sorted as they are numbered.
type fleet struct {
	*kit.Client
	t         *testing.T
	namespace string
}

// newFleet returns a fleet with a number of clusters.
func newFleet(t *testing.T, clusters int) *fleet {
	t.Helper()
	return newFleetOn(t, shared, clusters)
}

// newFleetOn is newFleet on another hub.
func newFleetOn(t *testing.T, hub *hubtest.Hub, clusters int) *fleet {
	t.Helper()
	f := &fleet{Client: kit.New(t, hub), t: t, namespace: hub.Namespace(t)}
	t.Cleanup(f.remove)
	f.MustCreate(kit.Set(f.namespace))
	f.bind(f.namespace)
	for i := range clusters {
		f.join(i)
	}
	return f
}

// remove deletes the objects of the fleet, the placements first. The garbage collector deletes the slices later.
func (f *fleet) remove() {
	ctx, in := context.WithoutCancel(f.t.Context()), client.InNamespace(f.namespace)
	mine := client.MatchingLabels{clusterv1beta2.ClusterSetLabel: f.namespace}
	for _, err := range []error{
		f.DeleteAllOf(ctx, &clusterv1beta1.Placement{}, in),
		f.DeleteAllOf(ctx, &clusterv1beta2.ManagedClusterSetBinding{}, in),
		f.DeleteAllOf(ctx, &clusterv1.ManagedCluster{}, mine),
		client.IgnoreNotFound(f.Delete(ctx, kit.Set(f.namespace))),
	} {
		if err != nil {
			f.t.Error(err)
		}
	}
}

// bind binds a set to the fleet's namespace.
func (f *fleet) bind(set string) *clusterv1beta2.ManagedClusterSetBinding {
	f.t.Helper()
	out := kit.Binding(f.namespace, set)
	f.MustCreate(out)
	return out
}

// name returns the name of a cluster by its number.
func (f *fleet) name(number int) string { return fmt.Sprintf("%s-%04d", f.namespace, number) }

// names returns the names of clusters by their numbers.
func (f *fleet) names(numbers ...int) []string {
	out := make([]string, 0, len(numbers))
	for _, number := range numbers {
		out = append(out, f.name(number))
	}
	return out
}

// upTo returns the names of the first clusters.
func (f *fleet) upTo(count int) []string {
	out := make([]string, 0, count)
	for i := range count {
		out = append(out, f.name(i))
	}
	return out
}

// cluster returns a cluster of the fleet that is not stored.
func (f *fleet) cluster(number int) *clusterv1.ManagedCluster {
	out := kit.AcceptedCluster(f.name(number), clusterv1beta2.ClusterSetLabel, f.namespace)
	return out
}

// join stores a cluster with further labels, given as key, value.
func (f *fleet) join(number int, labels ...string) *clusterv1.ManagedCluster {
	f.t.Helper()
	out := f.cluster(number)
	for i := 0; i < len(labels); i += 2 {
		out.Labels[labels[i]] = labels[i+1]
	}
	f.MustCreate(out)
	return out
}

// placement stores a placement of all reachable clusters, changed by the functions.
func (f *fleet) placement(name string, change ...func(*clusterv1beta1.PlacementSpec)) *clusterv1beta1.Placement {
	f.t.Helper()
	out := kit.Placement(f.namespace, name)
	for _, apply := range change {
		apply(&out.Spec)
	}
	f.MustCreate(out)
	return out
}

func expression(cel string) func(*clusterv1beta1.PlacementSpec) {
	return func(spec *clusterv1beta1.PlacementSpec) {
		spec.Predicates = append(spec.Predicates, clusterv1beta1.ClusterPredicate{
			RequiredClusterSelector: clusterv1beta1.ClusterSelector{
				CelSelector: clusterv1beta1.ClusterCelSelector{CelExpressions: []string{cel}},
			},
		})
	}
}

func tolerating(tolerations ...clusterv1beta1.Toleration) func(*clusterv1beta1.PlacementSpec) {
	return func(spec *clusterv1beta1.PlacementSpec) { spec.Tolerations = append(spec.Tolerations, tolerations...) }
}

// change reads an object, changes it and stores it, until there is no conflict.
func change[T client.Object](f *fleet, object T, apply func(T)) T {
	f.t.Helper()
	return edit(f, object, apply, func(ctx context.Context) error { return f.Update(ctx, object) })
}

// changeStatus is change for the status.
func changeStatus[T client.Object](f *fleet, object T, apply func(T)) T {
	f.t.Helper()
	return edit(f, object, apply, func(ctx context.Context) error { return f.Status().Update(ctx, object) })
}

func edit[T client.Object](f *fleet, object T, apply func(T), store func(context.Context) error) T {
	f.t.Helper()
	kit.NoError(f.t, retry.OnError(retry.DefaultBackoff, apierrors.IsConflict, func() error {
		if err := f.Get(f.t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		apply(object)
		return store(f.t.Context())
	}))
	return object
}

// slices returns the slices with the label of a placement, sorted by name, as consumers read them.
func (f *fleet) slices(ctx context.Context, placement string) ([]clusterv1beta1.PlacementDecision, error) {
	var list clusterv1beta1.PlacementDecisionList
	err := f.List(ctx, &list, client.InNamespace(f.namespace), client.MatchingLabels{clusterv1beta1.PlacementLabel: placement})
	return list.Items, err
}

// awaitSelected waits until a placement has selected exactly some clusters and its status counts them.
func (f *fleet) awaitSelected(placement string, want ...string) {
	f.t.Helper()
	f.Await("a placement has selected exactly some clusters and its status counts them", func(ctx context.Context) error {
		stored, err := f.slices(ctx, placement)
		if err != nil {
			return err
		}
		if got := kit.ClustersIn(stored); !slices.Equal(got, want) {
			return fmt.Errorf("placement %s has %v, want %v", placement, got, want)
		}
		object := &clusterv1beta1.Placement{}
		if err := f.Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: placement}, object); err != nil {
			return err
		}
		if int(object.Status.NumberOfSelectedClusters) != len(want) {
			return fmt.Errorf("placement %s counts %d clusters, want %d", placement, object.Status.NumberOfSelectedClusters, len(want))
		}
		if len(stored) == 0 || len(object.Status.Conditions) == 0 || object.Status.Conditions[0].ObservedGeneration != object.Generation {
			return fmt.Errorf("placement %s has %d slices, the conditions %+v and generation %d", placement, len(stored), object.Status.Conditions,
				object.Generation)
		}
		return nil
	})
}

// awaitCondition waits until a placement has a condition with a status and a reason, and returns its message.
func (f *fleet) awaitCondition(placement, condition string, status metav1.ConditionStatus, reason string) string {
	f.t.Helper()
	return f.AwaitObservedCondition(kit.Placement(f.namespace, placement), condition, status, reason).Message
}

// resources sets the memory capacity of a cluster, and the allocatable memory.
func resources(c *clusterv1.ManagedCluster, memory string) {
	c.Status.Capacity = clusterv1.ResourceList{clusterv1.ResourceMemory: resource.MustParse(memory)}
	c.Status.Allocatable = clusterv1.ResourceList{clusterv1.ResourceMemory: resource.MustParse(memory)}
}

// awaitKept waits until a misconfigured placement has exactly some clusters and counts them. Its conditions may be of an earlier
// generation.
func (f *fleet) awaitKept(placement string, count int, want ...string) {
	f.t.Helper()
	f.Await("a misconfigured placement has exactly some clusters and counts them", func(ctx context.Context) error {
		stored, err := f.slices(ctx, placement)
		if err != nil {
			return err
		}
		object := &clusterv1beta1.Placement{}
		if err := f.Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: placement}, object); err != nil {
			return err
		}
		if got := kit.ClustersIn(stored); !slices.Equal(got, want) || int(object.Status.NumberOfSelectedClusters) != count {
			return fmt.Errorf("placement %s has %v and counts %d, want %v", placement, got, object.Status.NumberOfSelectedClusters, want)
		}
		return nil
	})
}

func sorted(names []string) []string {
	slices.Sort(names)
	return names
}
