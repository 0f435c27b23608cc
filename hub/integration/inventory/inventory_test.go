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
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	multiclusterv1alpha1 "github.com/berth-project/berth/api/multicluster/v1alpha1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/config"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

var (
	shared    *hubtest.Hub
	errNotYet = errors.New("not yet")
)

func TestMain(m *testing.M) {
	os.Exit(hubtest.Main(m, &shared, hubtest.Options{Folders: map[string]fs.FS{
		"inventory": config.Inventory(), "profile": config.Profile(),
		"registration": config.Registration(), "delivery": config.Delivery(),
	}}))
}

// state is a namespace with the profiles of another manager, bound to a set of their clusters, and a manager that imports them.
type state struct {
	*kit.Client

	t         *testing.T
	namespace string
	manager   *hubtest.Manager
}

func newState(t *testing.T, grace string) *state {
	t.Helper()
	w := &state{Client: kit.New(t, shared), t: t, namespace: shared.Namespace(t)}
	set := kit.Set(w.namespace)
	set.Spec.ClusterSelector = clusterv1beta2.ManagedClusterSelector{
		SelectorType:  clusterv1beta2.LabelSelector,
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{clusterv1.InventoryLabelKey: w.namespace + ".theirs"}},
	}
	w.create(set)
	w.create(kit.Binding(w.namespace, w.namespace))
	w.manager = hubtest.StartManager(t, shared, hubtest.ManagerOptions{TaintUnjoined: true, Args: []string{
		"--controllers=*,acceptance,csr,addon,replicaset,profile,inventory", "--inventory-namespaces=" + w.namespace,
		"--inventory-grace=" + grace,
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

func (s *state) create(object client.Object) {
	s.t.Helper()
	s.MustCreate(object)
	if object.GetNamespace() == "" {
		s.t.Cleanup(func() {
			if err := client.IgnoreNotFound(s.Delete(context.WithoutCancel(s.t.Context()), object)); err != nil {
				s.t.Error(err)
			}
		})
	}
}

func (s *state) name(short string) string { return s.namespace + "-" + short }

// publish stores a profile with its status, as another cluster manager does.
func (s *state) publish(short string, healthy metav1.ConditionStatus) *multiclusterv1alpha1.ClusterProfile {
	s.t.Helper()
	out := s.publishBare(short)
	s.report(out, healthy)
	return out
}

// publishBare stores a profile without a status.
func (s *state) publishBare(short string) *multiclusterv1alpha1.ClusterProfile {
	s.t.Helper()
	out := &multiclusterv1alpha1.ClusterProfile{ObjectMeta: metav1.ObjectMeta{
		Namespace: s.namespace, Name: s.name(short),
		Labels: map[string]string{"x-k8s.io/cluster-manager": "theirs"},
	}}
	out.Spec.ClusterManager.Name = "theirs"
	s.create(out)
	return out
}

func (s *state) report(profile *multiclusterv1alpha1.ClusterProfile, healthy metav1.ConditionStatus) {
	s.t.Helper()
	before := profile.DeepCopy()
	profile.Status.Version.Kubernetes = "v1.36.3"
	profile.Status.Properties = []multiclusterv1alpha1.Property{{Name: "short", Value: strings.TrimPrefix(profile.Name, s.namespace+"-")}}
	meta.SetStatusCondition(&profile.Status.Conditions, metav1.Condition{Type: "ControlPlaneHealthy", Status: healthy, Reason: "Checked"})
	s.MustPatchStatus(profile, client.MergeFrom(before))
}

// awaitDecision waits until a placement has some clusters.
func (s *state) awaitDecision(placement string, want ...string) {
	s.t.Helper()
	for i, short := range want {
		want[i] = s.name(short)
	}
	s.AwaitSelected(s.namespace, placement, want...)
}

// awaitCluster waits until a cluster satisfies a check; nil is a cluster that does not exist.
func (s *state) awaitCluster(short string, check func(*clusterv1.ManagedCluster) bool) {
	s.t.Helper()
	s.Await("a cluster satisfies a check", func(ctx context.Context) error {
		cluster := &clusterv1.ManagedCluster{}
		err := s.Get(ctx, client.ObjectKey{Name: s.name(short)}, cluster)
		if apierrors.IsNotFound(err) {
			cluster, err = nil, nil
		}
		if err != nil || !check(cluster) {
			return fmt.Errorf("the cluster is %+v: %w", cluster, errors.Join(err, errNotYet))
		}
		return nil
	})
}

func isMissing(cluster *clusterv1.ManagedCluster) bool {
	return cluster != nil && meta.IsStatusConditionFalse(cluster.Status.Conditions, clusterv1.ManagedClusterConditionInventoried)
}

// TestAFleetWithoutAgentsIsPlacedOn has a fleet that only ClusterProfiles describe.
func TestAFleetWithoutAgentsIsPlacedOn(t *testing.T) {
	w := newState(t, "1h")
	a := w.publish("a", metav1.ConditionTrue)
	w.publish("b", metav1.ConditionTrue)
	w.publish("c", metav1.ConditionFalse)
	placement := kit.Placement(w.namespace, "web")
	placement.Spec.Predicates = []clusterv1beta1.ClusterPredicate{
		{RequiredClusterSelector: clusterv1beta1.ClusterSelector{ClaimSelector: clusterv1beta1.ClusterClaimSelector{
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "short", Operator: metav1.LabelSelectorOpIn, Values: []string{"a", "b", "c"}}},
		}}},
	}
	w.create(placement)
	w.awaitDecision("web", "a", "b")

	t.Log("health follows the profile")
	w.report(a, metav1.ConditionFalse)
	w.awaitDecision("web", "b")
	w.report(a, metav1.ConditionTrue)
	w.awaitDecision("web", "a", "b")

	t.Log("no lease is expected, no namespace is made, and nothing is published under the same name")
	cluster := &clusterv1.ManagedCluster{}
	w.MustGet(client.ObjectKey{Name: a.Name}, cluster)
	if found := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1.ManagedClusterConditionHubAccepted); found != nil ||
		len(cluster.Finalizers) > 0 || cluster.Status.Version.Kubernetes != "v1.36.3" {
		t.Errorf("the cluster is %+v", cluster)
	}
	if err := w.Get(t.Context(), client.ObjectKey{Name: a.Name}, &corev1.Namespace{}); !apierrors.IsNotFound(err) {
		t.Errorf("the namespace of an agent: %v, want none", err)
	}
	kit.Await(t, "the imported clusters are selected", func(ctx context.Context) error {
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
	w.MustList(profiles, client.InNamespace(w.namespace))
	for i := range profiles.Items {
		if manager := profiles.Items[i].Spec.ClusterManager.Name; manager != "theirs" {
			t.Errorf("profile %s is of %s", profiles.Items[i].Name, manager)
		}
	}
}

// TestNothingIsDeliveredToAnImportedCluster has a namespace of a team with the name of a cluster that is imported.
func TestNothingIsDeliveredToAnImportedCluster(t *testing.T) {
	w := newState(t, "1h")
	w.publish("a", metav1.ConditionTrue)
	w.create(kit.Namespace(w.name("a")))
	w.create(kit.Placement(w.namespace, "web"))
	set := kit.WorkSet(w.namespace, "web")
	set.Spec.PlacementRefs = []workv1alpha1.LocalPlacementReference{{Name: "web"}}
	set.Spec.ManifestWorkTemplate.Workload.Manifests = []workv1.Manifest{{RawExtension: runtime.RawExtension{
		Raw: []byte(`{"apiVersion":"v1","kind":"Secret","metadata":{"namespace":"default","name":"web"}}`),
	}}}
	w.create(set)
	w.awaitDecision("web", "a")
	w.AwaitObject(set, "the set reports the imported cluster", func() error {
		condition := meta.FindStatusCondition(set.Status.Conditions, workv1alpha1.PlacementRolledOut)
		if condition == nil || !strings.Contains(condition.Message, "1 of 1 cluster left out: "+w.name("a")) ||
			!strings.Contains(condition.Message, "is imported from another inventory") {
			return fmt.Errorf("the condition is %+v: %w", condition, errNotYet)
		}
		return nil
	})
	works := &workv1.ManifestWorkList{}
	if err := w.List(t.Context(), works, client.InNamespace(w.name("a"))); err != nil || len(works.Items) > 0 {
		t.Errorf("the namespace has %d works, %v, want none", len(works.Items), err)
	}
}

// TestADeletedProfileDeletesItsClusterAfterTheGrace deletes one profile of five, then all.
func TestADeletedProfileDeletesItsClusterAfterTheGrace(t *testing.T) {
	w := newState(t, "1s")
	var all []*multiclusterv1alpha1.ClusterProfile
	for _, short := range []string{"a", "b", "c", "d", "e"} {
		all = append(all, w.publish(short, metav1.ConditionTrue))
	}
	w.create(kit.Placement(w.namespace, "web"))
	w.awaitDecision("web", "a", "b", "c", "d", "e")
	w.MustDelete(all[0])
	w.awaitCluster("a", func(c *clusterv1.ManagedCluster) bool { return c == nil })
	w.awaitDecision("web", "b", "c", "d", "e")

	t.Log("an inventory that is emptied deletes nothing")
	for _, profile := range all[1:] {
		w.MustDelete(profile)
	}
	for _, short := range []string{"b", "c", "d", "e"} {
		w.awaitCluster(short, isMissing)
	}
	for _, short := range []string{"b", "c", "d", "e"} {
		w.awaitHeld(short)
	}
	w.awaitDecision("web", "b", "c", "d", "e")

	t.Log("it returns: profiles without a status first, and no decision changes at any time")
	log := w.watchDecisions()
	var returned []*multiclusterv1alpha1.ClusterProfile
	for _, short := range []string{"b", "c", "d", "e"} {
		returned = append(returned, w.publishBare(short))
		w.awaitCluster(short, func(c *clusterv1.ManagedCluster) bool {
			return c != nil && meta.IsStatusConditionTrue(c.Status.Conditions, clusterv1.ManagedClusterConditionInventoried)
		})
	}
	for _, profile := range returned {
		w.report(profile, metav1.ConditionTrue)
	}
	w.publish("last", metav1.ConditionTrue)
	w.awaitCluster("last", func(c *clusterv1.ManagedCluster) bool { return c != nil })
	w.awaitCluster("e", func(c *clusterv1.ManagedCluster) bool {
		found := meta.FindStatusCondition(c.Status.Conditions, clusterv1.ManagedClusterConditionInventoried)
		return strings.HasPrefix(found.Message, "The cluster follows")
	})
	w.awaitDecision("web", "b", "c", "d", "e", "last")
	log.require(w.name("b"), w.name("c"), w.name("d"), w.name("e"))
}

// awaitHeld waits until the manager has refused to delete a cluster without its profile.
func (s *state) awaitHeld(short string) {
	s.t.Helper()
	s.Await("the manager has refused to delete a cluster without its profile", func(context.Context) error {
		for line := range strings.Lines(s.manager.Log()) {
			if strings.Contains(line, "a cluster without its profile stays for now") && strings.Contains(line, s.name(short)) {
				return nil
			}
		}
		return fmt.Errorf("the deletion of %s is not refused: %w", short, errNotYet)
	})
}

// decisionLog has each version of the decisions of a namespace since it began.
type decisionLog struct {
	*testing.T

	mu       sync.Mutex
	versions []map[string]bool
}

// watchDecisions follows the decisions, each of one slice, until the end of the test.
func (s *state) watchDecisions() *decisionLog {
	s.t.Helper()
	watching := kit.Must(s.Watch(s.t.Context(), &clusterv1beta1.PlacementDecisionList{}, client.InNamespace(s.namespace))).In(s.t)
	s.t.Cleanup(watching.Stop)
	out := &decisionLog{T: s.t}
	go func() {
		for event := range watching.ResultChan() {
			if slice, ok := event.Object.(*clusterv1beta1.PlacementDecision); ok {
				out.add(slice)
			}
		}
	}()
	return out
}

func (l *decisionLog) add(slice *clusterv1beta1.PlacementDecision) {
	version := map[string]bool{}
	for _, decision := range slice.Status.Decisions {
		version[decision.ClusterName] = true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.versions = append(l.versions, version)
}

// require requires these clusters in every version.
func (l *decisionLog) require(clusters ...string) {
	l.Helper()
	kit.Await(l.T, "both versions of the decision were seen", func(context.Context) error {
		l.mu.Lock()
		defer l.mu.Unlock()
		if len(l.versions) < 2 {
			return fmt.Errorf("%d versions of the decision, want the first and the last: %w", len(l.versions), errNotYet)
		}
		return nil
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, version := range l.versions {
		for _, cluster := range clusters {
			if !version[cluster] {
				l.Errorf("a version of the decision lacks %s: %v", cluster, version)
			}
		}
	}
}

// TestAClusterOfAUserIsLeftAlone has a cluster with the name of a profile.
func TestAClusterOfAUserIsLeftAlone(t *testing.T) {
	w := newState(t, "1s")
	theirs := kit.Cluster(w.name("a"))
	w.create(theirs)
	profile := w.publish("a", metav1.ConditionTrue)
	w.publish("b", metav1.ConditionTrue)
	kit.Await(t, "an event reports that the name is taken", func(ctx context.Context) error {
		list := &eventsv1.EventList{}
		if err := w.List(ctx, list, client.InNamespace(w.namespace)); err != nil {
			return err
		}
		if !slices.ContainsFunc(list.Items, func(e eventsv1.Event) bool { return e.Reason == "NameTaken" && e.Regarding.Name == profile.Name }) {
			return fmt.Errorf("%d events: %w", len(list.Items), errNotYet)
		}
		return nil
	})
	w.MustDelete(profile)
	w.awaitCluster("b", func(c *clusterv1.ManagedCluster) bool { return c != nil })
	stored := &clusterv1.ManagedCluster{}
	w.MustGet(client.ObjectKeyFromObject(theirs), stored)
	if stored.Spec.HubAcceptsClient || len(stored.Status.ClusterClaims) > 0 || stored.Labels[clusterv1.InventoryLabelKey] != "" {
		t.Errorf("the cluster is %+v", stored)
	}
}
