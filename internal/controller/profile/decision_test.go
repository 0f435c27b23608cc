package profile

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/flowcontrol"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	multiclusterv1alpha1 "github.com/berth-project/berth/api/multicluster/v1alpha1"
	"github.com/berth-project/berth/internal/telemetry"
)

// newHub returns a hub with objects.
func newHub(t *testing.T, objects ...client.Object) client.Client {
	t.Helper()
	kinds := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clusterv1.AddToScheme, clusterv1beta1.AddToScheme, clusterv1beta2.AddToScheme, multiclusterv1alpha1.AddToScheme,
	} {
		if err := add(kinds); err != nil {
			t.Fatal(err)
		}
	}
	return fake.NewClientBuilder().WithScheme(kinds).WithObjects(objects...).Build()
}

// TestAnObjectThatLooksLikeASliceBlocksTheDecision has objects with the label of this manager that are not of the placement.
func TestAnObjectThatLooksLikeASliceBlocksTheDecision(t *testing.T) {
	placement := &clusterv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "1"}}
	decided := &clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-decision-1", Labels: map[string]string{
		clusterv1beta1.PlacementLabel: "web", clusterv1beta1.DecisionGroupIndexLabel: "0", clusterv1beta1.DecisionGroupNameLabel: "",
	}}}
	decided.Status.Decisions = []clusterv1beta1.ClusterDecision{{ClusterName: "a"}}
	profile := &multiclusterv1alpha1.ClusterProfile{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "a"}}
	profile.Spec.ClusterManager.Name = "berth"
	for name, labels := range map[string]map[string]string{
		"without the key":                   {multiclusterv1alpha1.ClusterManagerLabel: "berth"},
		"with the key of another":           {multiclusterv1alpha1.ClusterManagerLabel: "berth", multiclusterv1alpha1.DecisionKeyLabel: "other"},
		"with the label of another manager": {multiclusterv1alpha1.ClusterManagerLabel: "other", multiclusterv1alpha1.DecisionKeyLabel: "web"},
	} {
		t.Run(name, func(t *testing.T) {
			theirs := &multiclusterv1alpha1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-decision-1", Labels: labels}}
			hub := newHub(t, placement, decided, profile, theirs)
			emitted := events.NewFakeRecorder(1)
			r := &decisionReconciler{
				client: hub, live: hub, recorder: emitted, clock: clocktesting.NewFakePassiveClock(time.Time{}), of: identity{manager: "berth"},
				writer:  &writer{client: hub, pace: flowcontrol.NewFakeAlwaysRateLimiter(), metrics: telemetry.NewProfiles(prometheus.NewRegistry(), func() int { return 0 })},
				waiting: map[client.ObjectKey]time.Time{}, blocked: map[client.ObjectKey]string{},
			}
			got, err := r.Reconcile(t.Context(), requestFor("shop", "web"))
			if diff := cmp.Diff(reconcile.Result{RequeueAfter: blockedRetry}, got); diff != "" || err != nil {
				t.Errorf("error %v, result (-want +got):\n%s", err, diff)
			}
			if len(emitted.Events) != 1 {
				t.Errorf("%d events, want 1", len(emitted.Events))
			}
		})
	}
}

// TestAClusterOfAWrongSetWakesItsProfile changes a cluster while the selector of its set is wrong.
func TestAClusterOfAWrongSetWakesItsProfile(t *testing.T) {
	wrong := &clusterv1beta2.ManagedClusterSet{ObjectMeta: metav1.ObjectMeta{Name: "wrong"}}
	wrong.Spec.ClusterSelector = clusterv1beta2.ManagedClusterSelector{SelectorType: clusterv1beta2.LabelSelector, LabelSelector: &metav1.LabelSelector{
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Unknown"}},
	}}
	other := &clusterv1beta2.ManagedClusterSet{ObjectMeta: metav1.ObjectMeta{Name: "other"}}
	binding := func(namespace, set string) client.Object {
		return &clusterv1beta2.ManagedClusterSetBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: set}}
	}
	r := newReach(newHub(t, wrong, other, binding("shop", "wrong"), binding("shop", "other"), binding("else", "other")))
	got := r.ofCluster(t.Context(), &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
	if diff := cmp.Diff([]reconcile.Request{requestFor("shop", "a")}, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}
