// Package inventory tests the controller inventory: a fleet that another cluster manager keeps as ClusterProfiles becomes clusters to place
// on, and neither a deleted profile nor an empty inventory evicts at once.
package inventory

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	multiclusterv1alpha1 "github.com/berth-project/berth/api/multicluster/v1alpha1"
	"github.com/berth-project/berth/config"
	"github.com/berth-project/berth/hub/hubtest"
)

// testTimeout is far longer than any wait of the tests on an idle machine. No test measures speed.
const testTimeout = 120 * time.Second

var (
	shared    *hubtest.Hub
	errNotYet = errors.New("not yet")
)

func TestMain(m *testing.M) {
	manifests, err := hubtest.Merge(map[string]fs.FS{"inventory": config.Inventory(), "profile": config.Profile(), "registration": config.Registration()})
	if err != nil {
		panic(err)
	}
	os.Exit(hubtest.Main(m, &shared, hubtest.Options{Manifests: manifests}))
}

// world is a namespace with the profiles of another manager, bound to a set of their clusters, and a manager that imports them.
type world struct {
	client.WithWatch

	t         *testing.T
	namespace string
	manager   *hubtest.Manager
}

func newWorld(t *testing.T, grace string) *world {
	t.Helper()
	w := &world{WithWatch: hubtest.NewClient(t, shared.Config()), t: t, namespace: shared.Namespace(t)}
	set := &clusterv1beta2.ManagedClusterSet{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}
	set.Spec.ClusterSelector = clusterv1beta2.ManagedClusterSelector{
		SelectorType:  clusterv1beta2.LabelSelector,
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{clusterv1.InventoryLabelKey: w.namespace + ".theirs"}},
	}
	w.create(set)
	w.create(&clusterv1beta2.ManagedClusterSetBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: w.namespace}, Spec: clusterv1beta2.ManagedClusterSetBindingSpec{ClusterSet: w.namespace},
	})
	w.manager = hubtest.StartManager(t, shared, hubtest.ManagerOptions{TaintUnjoined: true, Args: []string{
		"--controllers=*,acceptance,csr,addon,profile,inventory", "--inventory-namespaces=" + w.namespace, "--inventory-grace=" + grace,
	}})
	t.Cleanup(func() {
		list := &clusterv1.ManagedClusterList{}
		ctx := context.WithoutCancel(t.Context())
		if err := w.List(ctx, list, client.MatchingLabels{clusterv1.InventoryLabelKey: w.namespace + ".theirs"}); err != nil {
			t.Error(err)
		}
		for i := range list.Items {
			_ = w.Delete(ctx, &list.Items[i]) // the next test has other names
		}
	})
	return w
}

func (w *world) create(object client.Object) {
	w.t.Helper()
	if err := w.Create(w.t.Context(), object); err != nil {
		w.t.Fatal(err)
	}
	if object.GetNamespace() == "" {
		w.t.Cleanup(func() {
			if err := client.IgnoreNotFound(w.Delete(context.WithoutCancel(w.t.Context()), object)); err != nil {
				w.t.Error(err)
			}
		})
	}
}

func (w *world) name(short string) string { return w.namespace + "-" + short }

// publish stores a profile, as another cluster manager does.
func (w *world) publish(short string, healthy metav1.ConditionStatus) *multiclusterv1alpha1.ClusterProfile {
	w.t.Helper()
	out := &multiclusterv1alpha1.ClusterProfile{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: w.name(short), Labels: map[string]string{"x-k8s.io/cluster-manager": "theirs"}}}
	out.Spec.ClusterManager.Name = "theirs"
	w.create(out)
	w.report(out, healthy)
	return out
}

func (w *world) report(profile *multiclusterv1alpha1.ClusterProfile, healthy metav1.ConditionStatus) {
	w.t.Helper()
	before := profile.DeepCopy()
	profile.Status.Version.Kubernetes = "v1.36.3"
	profile.Status.Properties = []multiclusterv1alpha1.Property{{Name: "short", Value: strings.TrimPrefix(profile.Name, w.namespace+"-")}}
	meta.SetStatusCondition(&profile.Status.Conditions, metav1.Condition{Type: "ControlPlaneHealthy", Status: healthy, Reason: "Checked"})
	if err := w.Status().Patch(w.t.Context(), profile, client.MergeFrom(before)); err != nil {
		w.t.Fatal(err)
	}
}

// awaitDecision waits until a placement has some clusters.
func (w *world) awaitDecision(placement string, want ...string) {
	w.t.Helper()
	hubtest.Eventually(w.t, testTimeout, func(ctx context.Context) error {
		list := &clusterv1beta1.PlacementDecisionList{}
		if err := w.List(ctx, list, client.InNamespace(w.namespace), client.MatchingLabels{clusterv1beta1.PlacementLabel: placement}); err != nil {
			return err
		}
		var got []string
		for i := range list.Items {
			for _, decision := range list.Items[i].Status.Decisions {
				got = append(got, strings.TrimPrefix(decision.ClusterName, w.namespace+"-"))
			}
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			return fmt.Errorf("the placement has %v, want %v: %w", got, want, errNotYet)
		}
		return nil
	})
}

// awaitCluster waits until a cluster satisfies a check; nil is a cluster that does not exist.
func (w *world) awaitCluster(short string, check func(*clusterv1.ManagedCluster) bool) {
	w.t.Helper()
	hubtest.Eventually(w.t, testTimeout, func(ctx context.Context) error {
		cluster := &clusterv1.ManagedCluster{}
		err := w.Get(ctx, client.ObjectKey{Name: w.name(short)}, cluster)
		if apierrors.IsNotFound(err) {
			cluster, err = nil, nil
		}
		if err != nil || !check(cluster) {
			return fmt.Errorf("the cluster is %+v: %w", cluster, errors.Join(err, errNotYet))
		}
		return nil
	})
}

func (w *world) delete(object client.Object) {
	w.t.Helper()
	if err := w.Delete(w.t.Context(), object); err != nil {
		w.t.Fatal(err)
	}
}

func isMissing(cluster *clusterv1.ManagedCluster) bool {
	return cluster != nil && meta.IsStatusConditionFalse(cluster.Status.Conditions, clusterv1.ManagedClusterConditionInventoried)
}

// TestAFleetWithoutAgentsIsPlacedOn has a fleet that only ClusterProfiles describe.
func TestAFleetWithoutAgentsIsPlacedOn(t *testing.T) {
	w := newWorld(t, "1h")
	a := w.publish("a", metav1.ConditionTrue)
	w.publish("b", metav1.ConditionTrue)
	w.publish("c", metav1.ConditionFalse)
	placement := &clusterv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "web"}}
	placement.Spec.Predicates = []clusterv1beta1.ClusterPredicate{{RequiredClusterSelector: clusterv1beta1.ClusterSelector{ClaimSelector: clusterv1beta1.ClusterClaimSelector{
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "short", Operator: metav1.LabelSelectorOpIn, Values: []string{"a", "b", "c"}}},
	}}}}
	w.create(placement)
	w.awaitDecision("web", "a", "b")

	t.Log("health follows the profile")
	w.report(a, metav1.ConditionFalse)
	w.awaitDecision("web", "b")
	w.report(a, metav1.ConditionTrue)
	w.awaitDecision("web", "a", "b")

	t.Log("no lease is expected, no namespace is made, and nothing is published under the same name")
	cluster := &clusterv1.ManagedCluster{}
	if err := w.Get(t.Context(), client.ObjectKey{Name: a.Name}, cluster); err != nil {
		t.Fatal(err)
	}
	if found := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1.ManagedClusterConditionHubAccepted); found != nil || len(cluster.Finalizers) > 0 || cluster.Status.Version.Kubernetes != "v1.36.3" {
		t.Errorf("the cluster is %+v", cluster)
	}
	if err := w.Get(t.Context(), client.ObjectKey{Name: a.Name}, &corev1.Namespace{}); !apierrors.IsNotFound(err) {
		t.Errorf("the namespace of an agent: %v, want none", err)
	}
	hubtest.Eventually(t, testTimeout, func(ctx context.Context) error {
		list := &multiclusterv1alpha1.PlacementDecisionList{}
		if err := w.List(ctx, list, client.InNamespace(w.namespace)); err != nil {
			return err
		}
		var refs []string
		for i := range list.Items {
			for _, decision := range list.Items[i].Decisions {
				refs = append(refs, decision.ClusterProfileRef.Name)
			}
		}
		if slices.Sort(refs); !slices.Equal(refs, []string{w.name("a"), w.name("b")}) {
			return fmt.Errorf("the decision names %v: %w", refs, errNotYet)
		}
		return nil
	})
	profiles := &multiclusterv1alpha1.ClusterProfileList{}
	if err := w.List(t.Context(), profiles, client.InNamespace(w.namespace)); err != nil {
		t.Fatal(err)
	}
	for i := range profiles.Items {
		if manager := profiles.Items[i].Spec.ClusterManager.Name; manager != "theirs" {
			t.Errorf("profile %s is of %s", profiles.Items[i].Name, manager)
		}
	}
}

// TestADeletedProfileDeletesItsClusterAfterTheGrace deletes one profile of five, then all.
func TestADeletedProfileDeletesItsClusterAfterTheGrace(t *testing.T) {
	w := newWorld(t, "1s")
	var all []*multiclusterv1alpha1.ClusterProfile
	for _, short := range []string{"a", "b", "c", "d", "e"} {
		all = append(all, w.publish(short, metav1.ConditionTrue))
	}
	w.create(&clusterv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "web"}})
	w.awaitDecision("web", "a", "b", "c", "d", "e")
	w.delete(all[0])
	w.awaitCluster("a", func(c *clusterv1.ManagedCluster) bool { return c == nil })
	w.awaitDecision("web", "b", "c", "d", "e")

	t.Log("an inventory that is emptied deletes nothing")
	for _, profile := range all[1:] {
		w.delete(profile)
	}
	for _, short := range []string{"b", "c", "d", "e"} {
		w.awaitCluster(short, isMissing)
	}
	time.Sleep(5 * time.Second) // several times the grace
	w.awaitDecision("web", "b", "c", "d", "e")

	t.Log("it returns")
	for _, short := range []string{"b", "c", "d", "e"} {
		w.publish(short, metav1.ConditionTrue)
		w.awaitCluster(short, func(c *clusterv1.ManagedCluster) bool {
			return c != nil && meta.IsStatusConditionTrue(c.Status.Conditions, clusterv1.ManagedClusterConditionInventoried)
		})
	}
}

// TestAClusterOfAUserIsLeftAlone has a cluster with the name of a profile.
func TestAClusterOfAUserIsLeftAlone(t *testing.T) {
	w := newWorld(t, "1s")
	theirs := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: w.name("a")}}
	w.create(theirs)
	profile := w.publish("a", metav1.ConditionTrue)
	w.publish("b", metav1.ConditionTrue)
	hubtest.Eventually(t, testTimeout, func(ctx context.Context) error {
		list := &eventsv1.EventList{}
		if err := w.List(ctx, list, client.InNamespace(w.namespace)); err != nil {
			return err
		}
		if !slices.ContainsFunc(list.Items, func(e eventsv1.Event) bool { return e.Reason == "NameTaken" && e.Regarding.Name == profile.Name }) {
			return fmt.Errorf("%d events: %w", len(list.Items), errNotYet)
		}
		return nil
	})
	w.delete(profile)
	w.awaitCluster("b", func(c *clusterv1.ManagedCluster) bool { return c != nil })
	stored := &clusterv1.ManagedCluster{}
	if err := w.Get(t.Context(), client.ObjectKeyFromObject(theirs), stored); err != nil {
		t.Fatal(err)
	}
	if stored.Spec.HubAcceptsClient || len(stored.Status.ClusterClaims) > 0 || stored.Labels[clusterv1.InventoryLabelKey] != "" {
		t.Errorf("the cluster is %+v", stored)
	}
}
