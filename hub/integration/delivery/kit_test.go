package delivery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/delivery/plan"
)

var errNotYet = errors.New("not yet")

// maxConcurrent bounds the concurrent requests of a test.
const maxConcurrent = 32

// testFleet is a namespace for sets, and clusters whose namespaces exist.
type testFleet struct {
	*kit.Client
	t         *testing.T
	namespace string
	clusters  []string
}

// newFleet creates the namespaces of a number of clusters, which are named after the namespace of the sets.
func newFleet(t *testing.T, clusters int) *testFleet {
	t.Helper()
	f := &testFleet{Client: kit.New(t, shared), t: t, namespace: shared.Namespace(t)}
	for i := range clusters {
		f.clusters = append(f.clusters, fmt.Sprintf("%s-%04d", f.namespace, i))
	}
	f.forAll(f.clusters, func(cluster string) error {
		return f.Create(t.Context(), kit.Namespace(cluster))
	})
	return f
}

// forAll calls a function for each name, some at a time.
func (f *testFleet) forAll(names []string, call func(name string) error) {
	f.t.Helper()
	var running sync.WaitGroup
	places, failures := make(chan struct{}, maxConcurrent), make(chan error, len(names))
	for _, name := range names {
		places <- struct{}{}
		running.Go(func() {
			defer func() { <-places }()
			if err := call(name); err != nil {
				failures <- fmt.Errorf("%s: %w", name, err)
			}
		})
	}
	running.Wait()
	close(failures)
	for err := range failures {
		f.t.Fatal(err)
	}
}

// decide stores a placement and its decision: groups of clusters.
func (f *testFleet) decide(name string, groups ...[]string) {
	f.t.Helper()
	placement := kit.Placement(f.namespace, name)
	f.MustCreateMissing(placement)
	wanted := map[string]bool{}
	count := 0
	for index, group := range groups {
		for number, part := range chunks(group) {
			slice := fmt.Sprintf("%s-%d-%d", name, index, number)
			wanted[slice] = true
			f.storeSlice(name, slice, index, part)
			count += len(part)
		}
	}
	list := &clusterv1beta1.PlacementDecisionList{}
	f.MustList(list, client.InNamespace(f.namespace), client.MatchingLabels{clusterv1beta1.PlacementLabel: name})
	for i := range list.Items {
		if !wanted[list.Items[i].Name] {
			f.MustDelete(&list.Items[i])
		}
	}
	f.MustRead(placement)
	placement.Status.NumberOfSelectedClusters = int32(count)
	f.MustUpdateStatus(placement)
}

// chunks divides a group into slices of at most 100 clusters; an empty group has one slice.
func chunks(group []string) [][]string {
	if len(group) == 0 {
		return [][]string{nil}
	}
	return slices.Collect(slices.Chunk(group, 100))
}

func (f *testFleet) storeSlice(placement, name string, group int, clusters []string) {
	f.t.Helper()
	slice := &clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{
		Namespace: f.namespace, Name: name,
		Labels: map[string]string{clusterv1beta1.PlacementLabel: placement, clusterv1beta1.DecisionGroupIndexLabel: strconv.Itoa(group)},
	}}
	f.MustCreateMissing(slice)
	f.MustRead(slice)
	slice.Status.Decisions = []clusterv1beta1.ClusterDecision{}
	for _, cluster := range clusters {
		slice.Status.Decisions = append(slice.Status.Decisions, clusterv1beta1.ClusterDecision{ClusterName: cluster})
	}
	f.MustUpdateStatus(slice)
}

// manifests returns a ConfigMap with a value.
func manifests(value string) workv1.ManifestsTemplate {
	return workv1.ManifestsTemplate{Manifests: []workv1.Manifest{{RawExtension: runtime.RawExtension{Raw: []byte(
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"default","name":"web"},"data":{"value":"` + value + `"}}`,
	)}}}}
}

// newSet stores a set with placements such as "p" or "p={type: Progressive}".
func (f *testFleet) newSet(name string, placements ...string) *workv1alpha1.ManifestWorkReplicaSet {
	f.t.Helper()
	return f.newSetOf(manifests("1"), name, placements...)
}

// newSetOf is newSet with another template.
func (f *testFleet) newSetOf(workload workv1.ManifestsTemplate, name string, placements ...string) *workv1alpha1.ManifestWorkReplicaSet {
	f.t.Helper()
	out := kit.WorkSet(f.namespace, name)
	out.Spec.ManifestWorkTemplate.Workload = workload
	for _, text := range placements {
		placement, strategy, _ := strings.Cut(text, "=")
		reference := workv1alpha1.LocalPlacementReference{Name: placement}
		reference.RolloutStrategy.RolloutStrategy = parseStrategy(f.t, strategy)
		out.Spec.PlacementRefs = append(out.Spec.PlacementRefs, reference)
	}
	f.MustCreate(out)
	return out
}

func parseStrategy(t *testing.T, text string) clusterv1alpha1.RolloutStrategy {
	t.Helper()
	out := clusterv1alpha1.RolloutStrategy{}
	kit.NoError(t, yaml.UnmarshalStrict([]byte(text), &out))
	return out
}

// change changes a set.
func (f *testFleet) change(set *workv1alpha1.ManifestWorkReplicaSet, change func(*workv1alpha1.ManifestWorkReplicaSet)) {
	f.t.Helper()
	f.AwaitChanged(set, func() {
		change(set)
	})
}

// works returns the works with the label of a set, by cluster and name.
func (f *testFleet) works(ctx context.Context, set *workv1alpha1.ManifestWorkReplicaSet) ([]workv1.ManifestWork, error) {
	list := &workv1.ManifestWorkList{}
	err := f.List(ctx, list, client.MatchingLabels{workv1.ReplicaSetLabel: plan.SetLabelValue(set.Namespace, set.Name)})
	slices.SortFunc(list.Items, func(a, b workv1.ManifestWork) int { return strings.Compare(a.Namespace+a.Name, b.Namespace+b.Name) })
	return list.Items, err
}

// awaitWorks waits until the works of a set that have a value are in exactly these clusters, and returns them.
func (f *testFleet) awaitWorks(set *workv1alpha1.ManifestWorkReplicaSet, value string, clusters ...string) []workv1.ManifestWork {
	f.t.Helper()
	var out []workv1.ManifestWork
	f.Await("the works of a set that have a value are in exactly these clusters", func(ctx context.Context) error {
		works, err := f.works(ctx, set)
		if err != nil {
			return err
		}
		out = nil
		var got []string
		for _, work := range works {
			if len(work.Spec.Workload.Manifests) == 1 && strings.Contains(string(work.Spec.Workload.Manifests[0].Raw), `"value":"`+value+`"`) {
				got, out = append(got, work.Namespace), append(out, work)
			}
		}
		if !slices.Equal(got, clusters) {
			return fmt.Errorf("%d clusters have value %s, want %d: %w", len(got), value, len(clusters), errNotYet)
		}
		return nil
	})
	return out
}

// awaitCondition waits until a condition of a set has a status and a reason for the present generation, and returns the set.
func (f *testFleet) awaitCondition(set *workv1alpha1.ManifestWorkReplicaSet,
	kind, status, reason string,
) *workv1alpha1.ManifestWorkReplicaSet {
	f.t.Helper()
	out := kit.WorkSet(set.Namespace, set.Name)
	f.AwaitObservedCondition(out, kind, metav1.ConditionStatus(status), reason)
	return out
}

// agent returns a client with the rights of the agent of a cluster.
func (f *testFleet) agent(cluster string) *kit.Client {
	f.t.Helper()
	group := "system:open-cluster-management:" + cluster
	binding := kit.RoleBinding(cluster, "agent", kit.ClusterRole("open-cluster-management:managedcluster:work"), kit.Group(group))
	f.MustCreateMissing(binding)
	return kit.As(f.t, shared, group+":agent", group)
}

// report writes conditions such as "Applied Progressing=False" of the present generation into the status of a work.
func report(ctx context.Context, as *kit.Client, work *workv1.ManifestWork, conditions string) error {
	for word := range strings.FieldsSeq(conditions) {
		kind, status, has := strings.Cut(word, "=")
		if !has {
			status = "True"
		}
		meta.SetStatusCondition(&work.Status.Conditions, metav1.Condition{
			Type: kind, Status: metav1.ConditionStatus(status), Reason: "Test", ObservedGeneration: work.Generation,
		})
	}
	return as.Status().Update(ctx, work)
}

// healthy lets the agents of clusters report that their works are healthy.
func (f *testFleet) healthy(works []workv1.ManifestWork) {
	f.t.Helper()
	for i := range works {
		f.awaitReport(&works[i], "Applied Available Progressing=False Degraded=False")
	}
}

// awaitReport lets the agent of a cluster report conditions of its work, until the API server stores them: the manager may write too, and
// the API server learns of a binding after a moment.
func (f *testFleet) awaitReport(of *workv1.ManifestWork, conditions string) {
	f.t.Helper()
	work, agent := of.DeepCopy(), f.agent(of.Namespace)
	f.Await("the agent has reported "+conditions, func(ctx context.Context) error {
		if err := f.Get(ctx, client.ObjectKeyFromObject(work), work); err != nil {
			return err
		}
		return report(ctx, agent, work, conditions)
	})
}

// awaitAny waits until a set has a work.
func (f *testFleet) awaitAny(set *workv1alpha1.ManifestWorkReplicaSet) {
	f.t.Helper()
	f.Await("a set has a work", func(ctx context.Context) error {
		if works, err := f.works(ctx, set); err != nil || len(works) == 0 {
			return errors.Join(errNotYet, err)
		}
		return nil
	})
}

// release lets the agents of deleted works remove their finalizer, until no work of the set is left.
func (f *testFleet) release(set *workv1alpha1.ManifestWorkReplicaSet) {
	f.t.Helper()
	f.releaseIn(set, f.clusters)
}

// releaseIn is release in some clusters.
func (f *testFleet) releaseIn(set *workv1alpha1.ManifestWorkReplicaSet, clusters []string) {
	f.t.Helper()
	f.Await("no work of the set is left in the clusters", func(ctx context.Context) error {
		works, err := f.works(ctx, set)
		if err != nil {
			return err
		}
		left := 0
		for i := range works {
			work := &works[i]
			if !slices.Contains(clusters, work.Namespace) {
				continue
			}
			left++
			if work.DeletionTimestamp.IsZero() {
				continue
			}
			work.Finalizers = nil
			//nolint:contextcheck // agent has the context of the test
			if err := client.IgnoreNotFound(f.agent(work.Namespace).Update(ctx, work)); err !=
				nil {
				return err
			}
		}
		if left > 0 {
			return fmt.Errorf("%d works are left: %w", left, errNotYet)
		}
		return nil
	})
}

// placement returns a placement to delete.
func (f *testFleet) placement(name string) *clusterv1beta1.Placement {
	return kit.Placement(f.namespace, name)
}

// workWrites returns how many writes the API server completed, by verb and resource of works and sets.
func workWrites(t *testing.T) map[string]float64 {
	t.Helper()
	return hubtest.Writes(shared.ReadMetrics(t), func(group, _ string) bool { return group == workv1.GroupName })
}

// quiet waits until the API server has stored no write of works for a moment.
func quiet(t *testing.T) map[string]float64 {
	t.Helper()
	last, since := workWrites(t), time.Now()
	kit.Await(t, "the API server has stored no write of works for a moment", func(context.Context) error {
		now := workWrites(t) //nolint:contextcheck // it takes the context of the test
		if fmt.Sprint(now) != fmt.Sprint(last) {
			last, since = now, time.Now()
		}
		if time.Since(since) < 2*time.Second {
			return errNotYet
		}
		return nil
	})
	return last
}
