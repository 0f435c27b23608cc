package profile

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	multiclusterv1alpha1 "github.com/berth-project/berth/api/multicluster/v1alpha1"
	"github.com/berth-project/berth/internal/kube/changes"
	"github.com/berth-project/berth/internal/membership/registration"
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

// newDecisionReconciler returns the reconciler of decisions on a hub.
func newDecisionReconciler(hub client.Client, recorder events.EventRecorder, now clock.PassiveClock) *decisionReconciler {
	return &decisionReconciler{
		client: hub, live: hub, recorder: recorder, clock: now, of: identity{manager: "berth"},
		writer: &writer{
			client: hub, pace: flowcontrol.NewFakeAlwaysRateLimiter(),
			metrics: NewMetrics(prometheus.NewRegistry(), func() int { return 0 }),
		},
		waiting: map[client.ObjectKey]time.Time{}, blocked: map[client.ObjectKey]string{}, incomplete: map[client.ObjectKey]incompleteDecision{},
	}
}

// decidedOn returns a placement with a complete decision, and its slice.
func decidedOn(clusters ...string) (*clusterv1beta1.Placement, *clusterv1beta1.PlacementDecision) {
	placement, slice := web(), from(1, clusters...)
	slice.Labels[clusterv1beta1.PlacementLabel] = "web"
	placement.Status.NumberOfSelectedClusters = int32(len(clusters))
	placement.Status.Conditions = []metav1.Condition{{Type: clusterv1beta1.PlacementConditionSatisfied, Status: metav1.ConditionTrue}}
	return placement, slice
}

// profileOf returns the profile of cluster a, of a cluster manager.
func profileOf(manager string) *multiclusterv1alpha1.ClusterProfile {
	out := &multiclusterv1alpha1.ClusterProfile{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "a"}}
	out.Spec.ClusterManager.Name = manager
	return out
}

// published returns the clusters of the decisions that readers of multicluster.x-k8s.io have.
func published(t *testing.T, hub client.Client) []string {
	t.Helper()
	list := &multiclusterv1alpha1.PlacementDecisionList{}
	if err := hub.List(t.Context(), list, client.InNamespace("shop")); err != nil {
		t.Fatal(err)
	}
	var out []string
	for i := range list.Items {
		for _, entry := range list.Items[i].Decisions {
			out = append(out, entry.ClusterProfileRef.Name)
		}
	}
	slices.Sort(out)
	return out
}

// reconcileWeb reconciles the placement, and requires a delay.
func reconcileWeb(t *testing.T, r *decisionReconciler, want time.Duration) {
	t.Helper()
	got, err := r.Reconcile(t.Context(), requestFor("shop", "web"))
	if diff := cmp.Diff(reconcile.Result{RequeueAfter: want}, got); diff != "" || err != nil {
		t.Errorf("error %v, result (-want +got):\n%s", err, diff)
	}
}

// TestADecisionThatStaysIncompleteIsReportedOnce has a slice that lacks a cluster of the status.
func TestADecisionThatStaysIncompleteIsReportedOnce(t *testing.T) {
	placement, slice := decidedOn("a")
	placement.Status.NumberOfSelectedClusters = 2
	hub, emitted, now := newHub(t, placement, slice, profileOf("berth")), events.NewFakeRecorder(10), clocktesting.NewFakeClock(start)
	r := newDecisionReconciler(hub, emitted, now)
	requireEvents := func(want int) {
		t.Helper()
		if got := len(emitted.Events); got != want {
			t.Fatalf("%d events, want %d", got, want)
		}
	}
	setSelected := func(count int32) {
		t.Helper()
		placement.Status.NumberOfSelectedClusters = count
		if err := hub.Update(t.Context(), placement); err != nil {
			t.Fatal(err)
		}
	}
	reconcileWeb(t, r, incompleteRetry)
	now.Step(incompleteLimit - time.Nanosecond)
	reconcileWeb(t, r, incompleteRetry)
	requireEvents(0)
	now.Step(time.Nanosecond)
	reconcileWeb(t, r, lateRetry)
	reconcileWeb(t, r, lateRetry)
	requireEvents(1)
	if got := published(t, hub); len(got) > 0 {
		t.Errorf("an incomplete decision is published: %v", got)
	}
	if got := <-emitted.Events; !strings.Contains(got, "Warning DecisionIncomplete") ||
		!strings.Contains(got, "the status has 2 clusters, the slices have 1") {
		t.Errorf("the event is %q", got)
	}

	t.Log("a complete decision is published, and the next incomplete one has a minute again")
	setSelected(1)
	reconcileWeb(t, r, 0)
	if diff := cmp.Diff([]string{"a"}, published(t, hub)); diff != "" {
		t.Errorf("the published clusters (-want +got):\n%s", diff)
	}
	setSelected(2)
	reconcileWeb(t, r, incompleteRetry)
	requireEvents(0)

	t.Log("a placement that is gone leaves no state")
	if err := hub.Delete(t.Context(), placement); err != nil {
		t.Fatal(err)
	}
	reconcileWeb(t, r, 0)
	if len(r.incomplete) > 0 {
		t.Errorf("the state is %v", r.incomplete)
	}
}

// TestADecisionWithoutClustersIsFollowed has a placement that selected a cluster before.
func TestADecisionWithoutClustersIsFollowed(t *testing.T) {
	placement, slice := decidedOn()
	before := webDecision("a")
	hub := newHub(t, placement, slice, profileOf("berth"), before)
	reconcileWeb(t, newDecisionReconciler(hub, events.NewFakeRecorder(1), clocktesting.NewFakePassiveClock(start)), 0)
	if got := published(t, hub); len(got) > 0 {
		t.Errorf("the published clusters are %v", got)
	}
}

// webDecision returns the first stored decision of the placement that readers of multicluster.x-k8s.io have.
func webDecision(clusters ...string) *multiclusterv1alpha1.PlacementDecision {
	in := sliceInput{placement: web(), manager: "berth"}
	wanted, _ := targets("shop", []*clusterv1beta1.PlacementDecision{from(1, clusters...)}, everyCluster)
	return in.object(wanted[0], revision(wanted), nil)
}

// TestADecisionNamesNoProfileThatReplacedAnother has a cluster in the stored decision whose profile is now of some cluster manager.
func TestADecisionNamesNoProfileThatReplacedAnother(t *testing.T) {
	imported := map[string]string{clusterv1.InventoryProfileAnnotationKey: "shop/a", clusterv1.InventoryManagerAnnotationKey: "theirs"}
	unrecorded := map[string]string{clusterv1.InventoryProfileAnnotationKey: "shop/a"}
	for name, test := range map[string]struct {
		annotations map[string]string
		profile     *multiclusterv1alpha1.ClusterProfile
		want        []string
	}{
		"of this manager":                                 {nil, profileOf("berth"), []string{"a"}},
		"of another manager":                              {nil, profileOf("theirs"), []string{"a"}},
		"of a manager that is not recorded":               {unrecorded, profileOf("theirs"), []string{"a"}},
		"gone for a moment":                               {nil, nil, []string{"a"}},
		"of the manager that the cluster came from":       {imported, profileOf("theirs"), []string{"a"}},
		"of a manager that the cluster did not come from": {imported, profileOf("others"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			placement, slice := decidedOn("a")
			objects := []client.Object{
				placement, slice, webDecision("a"), &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: "a", Annotations: test.annotations}},
			}
			if test.profile != nil {
				objects = append(objects, test.profile)
			}
			hub, now := newHub(t, objects...), clocktesting.NewFakeClock(start)
			r := newDecisionReconciler(hub, events.NewFakeRecorder(1), now)
			for range 2 { // a decision waits for profiles first
				if _, err := r.Reconcile(t.Context(), requestFor("shop", "web")); err != nil {
					t.Fatal(err)
				}
				now.Step(profileWait)
			}
			if diff := cmp.Diff(test.want, published(t, hub)); diff != "" {
				t.Errorf("the published clusters (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAnObjectThatLooksLikeASliceBlocksTheDecision has objects with the label of this manager that are not of the placement.
func TestAnObjectThatLooksLikeASliceBlocksTheDecision(t *testing.T) {
	placement, decided := decidedOn("a")
	profile := profileOf("berth")
	for name, labels := range map[string]map[string]string{
		"without the key":                   {multiclusterv1alpha1.ClusterManagerLabel: "berth"},
		"with the key of another":           {multiclusterv1alpha1.ClusterManagerLabel: "berth", multiclusterv1alpha1.DecisionKeyLabel: "other"},
		"with the label of another manager": {multiclusterv1alpha1.ClusterManagerLabel: "other", multiclusterv1alpha1.DecisionKeyLabel: "web"},
	} {
		t.Run(name, func(t *testing.T) {
			theirs := &multiclusterv1alpha1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{
				Namespace: "shop", Name: "web-decision-1",
				Labels: labels,
			}}
			hub := newHub(t, placement, decided, profile, theirs)
			emitted := events.NewFakeRecorder(1)
			r := newDecisionReconciler(hub, emitted, clocktesting.NewFakePassiveClock(start))
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

// TestAPlacementWakesItsDecision changes placements.
func TestAPlacementWakesItsDecision(t *testing.T) {
	before, _ := decidedOn("a")
	for name, test := range map[string]struct {
		change func(*clusterv1beta1.Placement)
		want   bool
	}{
		"its status": {func(p *clusterv1beta1.Placement) { p.Status.NumberOfSelectedClusters++ }, true},
		"another scheduler": {func(p *clusterv1beta1.Placement) {
			p.Annotations = map[string]string{clusterv1beta1.PlacementDisableAnnotation: "true"}
		}, true},
		"another placement":                  {func(p *clusterv1beta1.Placement) { p.UID = "other" }, true},
		"its spec, which its status follows": {func(p *clusterv1beta1.Placement) { p.Generation++ }, false},
	} {
		after := before.DeepCopy()
		test.change(after)
		if got := placementChanged().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestAnImportedClusterWakesTheDecisionsOfItsNamespace changes the profile that a cluster is imported from.
func TestAnImportedClusterWakesTheDecisionsOfItsNamespace(t *testing.T) {
	_, slice := decidedOn("a")
	r := newDecisionReconciler(newHub(t, slice), events.NewFakeRecorder(1), clocktesting.NewFakePassiveClock(start))
	local := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	from := func(profile, manager string) *clusterv1.ManagedCluster {
		out := local.DeepCopy()
		out.Annotations = map[string]string{clusterv1.InventoryProfileAnnotationKey: profile, clusterv1.InventoryManagerAnnotationKey: manager}
		return out
	}
	for name, test := range map[string]struct {
		before, after *clusterv1.ManagedCluster
		passes        bool
		want          []reconcile.Request
	}{
		"it is imported": {local, from("shop/a", "theirs"), true, []reconcile.Request{requestFor("shop", "web")}},
		"it has another manager": {
			from("shop/a", "theirs"), from("shop/a", "others"), true,
			[]reconcile.Request{requestFor("shop", "web")},
		},
		"it is from another namespace":  {local, from("else/a", "theirs"), true, []reconcile.Request{}},
		"it is of this cluster manager": {local, local, false, nil},
	} {
		if got := changes.Of(registration.ImportChanged).Update(event.UpdateEvent{ObjectOld: test.before, ObjectNew: test.after}); got !=
			test.passes {
			t.Errorf("%s: it passes: %t", name, got)
		}
		if diff := cmp.Diff(test.want, r.placementsOfImported(t.Context(), test.after)); diff != "" {
			t.Errorf("%s: requests (-want +got):\n%s", name, diff)
		}
	}
}

// TestAClusterOfAWrongSetWakesItsProfile changes a cluster while the selector of its set is wrong.
func TestAClusterOfAWrongSetWakesItsProfile(t *testing.T) {
	wrong := &clusterv1beta2.ManagedClusterSet{ObjectMeta: metav1.ObjectMeta{Name: "wrong"}}
	wrong.Spec.ClusterSelector = clusterv1beta2.ManagedClusterSelector{
		SelectorType: clusterv1beta2.LabelSelector,
		LabelSelector: &metav1.LabelSelector{
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Unknown"}},
		},
	}
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
