package setrole

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
)

const adminOfDev = "berth:managedclusterset:admin:dev"

func cluster(name, set string) *clusterv1.ManagedCluster {
	return &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{clusterv1beta2.ClusterSetLabel: set}}}
}

// namedClusters returns the clusters that the admin role of dev names, by rule.
func (r *reconciler) namedClusters(t *testing.T) [][]string {
	t.Helper()
	out := [][]string{}
	for _, rule := range r.roles(t)[adminOfDev].Rules {
		if slices.Contains(rule.Resources, "managedclusters") {
			out = append(out, rule.ResourceNames)
		}
	}
	return out
}

func devSet(selector clusterv1beta2.ManagedClusterSelector) *clusterv1beta2.ManagedClusterSet {
	out := set("dev", "1")
	out.Spec.ClusterSelector = selector
	return out
}

// TestAdminsOfAnExclusiveSetHoldItsClusters: the role names the clusters in the set, whatever other fields a selector has.
func TestAdminsOfAnExclusiveSetHoldItsClusters(t *testing.T) {
	exclusiveLabel := func(key, value string) clusterv1beta2.ManagedClusterSelector {
		return clusterv1beta2.ManagedClusterSelector{
			SelectorType: clusterv1beta2.ExclusiveLabel, ExclusiveLabel: &clusterv1beta2.ExclusiveLabelSelector{Key: key, Value: value},
		}
	}
	for sentence, test := range map[string]struct {
		selector clusterv1beta2.ManagedClusterSelector
		want     [][]string
	}{
		"by default": {clusterv1beta2.ManagedClusterSelector{}, [][]string{{"c1", "c2"}}},
		"by the clusterset label": {
			clusterv1beta2.ManagedClusterSelector{SelectorType: clusterv1beta2.ExclusiveClusterSetLabel},
			[][]string{{"c1", "c2"}},
		},
		"by that label, written out":  {exclusiveLabel(clusterv1beta2.ClusterSetLabel, "dev"), [][]string{{"c1", "c2"}}},
		"by the label of another set": {exclusiveLabel(clusterv1beta2.ClusterSetLabel, "prod"), [][]string{}},
		"by another label":            {exclusiveLabel("info.open-cluster-management.io/vendor", "x"), [][]string{}},
		"by labels that are not unique": {clusterv1beta2.ManagedClusterSelector{
			SelectorType:  clusterv1beta2.LabelSelector,
			LabelSelector: &metav1.LabelSelector{},
		}, [][]string{}},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newReconciler(t, interceptor.Funcs{}, devSet(test.selector), cluster("c2", "dev"), cluster("c1", "dev"), cluster("p1", "prod"),
				cluster("none", ""))
			if err := r.run(t, "dev"); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, r.namedClusters(t)); diff != "" {
				t.Errorf("clusters (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAdminsMayNotListClusters: the views list the visible clusters. A permission to list would show clusters of other sets.
func TestAdminsMayNotListClusters(t *testing.T) {
	for _, rule := range Rules(Admin, "dev", []string{"c1"}) {
		for _, verb := range []string{"list", "watch", "create", "deletecollection", "*"} {
			if slices.Contains(rule.Resources, "managedclusters") && slices.Contains(rule.Verbs, verb) {
				t.Errorf("%v may be used on %v", verb, rule.Resources)
			}
		}
		if len(rule.ResourceNames) == 0 {
			t.Errorf("%v on %v are allowed for every name", rule.Verbs, rule.Resources)
		}
	}
}

// TestClustersAreNamedOnlyUnderGuard: without the policy that limits set admins, the role stays as it is.
func TestClustersAreNamedOnlyUnderGuard(t *testing.T) {
	r := newReconciler(t, interceptor.Funcs{}, set("dev", "1"), cluster("c1", "dev"))
	guarded := true
	r.guarded = func(context.Context) (bool, error) { return guarded, nil }
	for _, guarded = range []bool{false, true, false} {
		r.clock.(*clocktesting.FakePassiveClock).SetTime(r.clock.Now().Add(time.Minute))
		result, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Name: "dev"}})
		if err != nil {
			t.Fatal(err)
		}
		want, again := [][]string{{"c1"}}, time.Duration(0)
		if !guarded {
			want, again = [][]string{}, guardRetry
		}
		if diff := cmp.Diff(want, r.namedClusters(t)); diff != "" || result.RequeueAfter != again {
			t.Errorf("guarded %t: again after %v, clusters (-want +got):\n%s", guarded, result.RequeueAfter, diff)
		}
	}
	r.guarded = func(context.Context) (bool, error) { return false, errBoom }
	if err := r.run(t, "dev"); err == nil {
		t.Error("an error of reading the guard counts as a guard")
	}
	fresh := newReconciler(t, interceptor.Funcs{}, set("dev", "1"), cluster("c1", "dev"))
	fresh.guarded = r.guarded
	if err := fresh.run(t, "dev"); err == nil || len(fresh.roles(t)) != 2 {
		t.Errorf("%d roles and %v, want the roles without clusters, and the failure", len(fresh.roles(t)), err)
	}
}

func TestNamesAreChunkedAndBounded(t *testing.T) {
	var objects []client.Object
	for i := range 12_001 {
		objects = append(objects, cluster(fmt.Sprintf("c%05d", i), "dev"))
	}
	r := newReconciler(t, interceptor.Funcs{}, append(objects, set("dev", "1"))...)
	if err := r.run(t, "dev"); err != nil {
		t.Fatal(err)
	}
	named := r.namedClusters(t)
	if len(named) != 10 {
		t.Fatalf("%d rules name clusters, want 10", len(named))
	}
	for _, names := range named {
		if len(names) != 1_000 {
			t.Errorf("a rule names %d clusters, want 1000", len(names))
		}
	}
}

// TestMovesAreThrottled moves 2,000 clusters into a set, one each millisecond. The total of the written names grows with the number of
// clusters and not with its square. At the end the role names every cluster.
func TestMovesAreThrottled(t *testing.T) {
	const clusters = 2_000
	written := 0
	r := newReconciler(t, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			for _, rule := range object.(*rbacv1.ClusterRole).Rules {
				written += len(rule.ResourceNames)
			}
			return c.Patch(ctx, object, patch, options...)
		},
	}, set("dev", "1"))
	clock := clocktesting.NewFakePassiveClock(start)
	r.clock = clock
	request := reconcile.Request{NamespacedName: types.NamespacedName{Name: "dev"}}
	due := start
	reconcileNow := func() {
		result, err := r.Reconcile(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		due = clock.Now().Add(result.RequeueAfter)
	}
	reconcileNow()
	for i := range clusters {
		if err := r.client.Create(t.Context(), cluster(fmt.Sprintf("c%05d", i), "dev")); err != nil {
			t.Fatal(err)
		}
		if !clock.Now().Before(due) {
			reconcileNow()
		}
		if i == 0 && len(r.namedClusters(t)) == 0 {
			t.Error("the first cluster is not named at once")
		}
		clock.SetTime(clock.Now().Add(time.Millisecond))
	}
	for range 2 {
		clock.SetTime(clock.Now().Add(clusters * pausePerCluster))
		reconcileNow()
	}
	if got := slices.Concat(r.namedClusters(t)...); len(got) != clusters {
		t.Errorf("the role names %d clusters at the end, want %d", len(got), clusters)
	}
	if written > 10*clusters {
		t.Errorf("%d names were written for %d clusters", written, clusters)
	}
}

// TestOnlyLabelChangesEnqueueASet: heartbeats and changes of other labels enqueue no set.
func TestOnlyLabelChangesEnqueueASet(t *testing.T) {
	labelled := cluster("c1", "dev")
	labelled.Labels["a"] = "b"
	for sentence, test := range map[string]struct {
		old, after *clusterv1.ManagedCluster
		want       bool
	}{
		"a move":        {cluster("c1", "dev"), cluster("c1", "prod"), true},
		"leaving":       {cluster("c1", "dev"), cluster("c1", ""), true},
		"another label": {cluster("c1", "dev"), labelled, false},
		"a heartbeat":   {cluster("c1", "dev"), cluster("c1", "dev"), false},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := setLabelChanged().Update(event.UpdateEvent{ObjectOld: test.old, ObjectNew: test.after}); got != test.want {
				t.Errorf("enqueued: %t, want %t", got, test.want)
			}
		})
	}
	if got := setsOfCluster(t.Context(), cluster("c1", "dev")); len(got) != 1 || got[0].Name != "dev" {
		t.Errorf("a cluster enqueues %v, want its set", got)
	}
}
