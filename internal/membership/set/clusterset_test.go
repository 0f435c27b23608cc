package set

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/internal/kube/builtin"
	"github.com/berth-project/berth/internal/source/informer"
)

var (
	errBoom = errors.New("boom")
	noon    = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
)

func set(name string, selector clusterv1beta2.ManagedClusterSelector) *clusterv1beta2.ManagedClusterSet {
	out := &clusterv1beta2.ManagedClusterSet{ObjectMeta: metav1.ObjectMeta{Name: name, Generation: 1}}
	out.Spec.ClusterSelector = selector
	return out
}

func exclusive(name string) *clusterv1beta2.ManagedClusterSet {
	return set(name, clusterv1beta2.ManagedClusterSelector{SelectorType: clusterv1beta2.ExclusiveClusterSetLabel})
}

func byLabel(name, key, value string) *clusterv1beta2.ManagedClusterSet {
	return set(name, clusterv1beta2.ManagedClusterSelector{
		SelectorType: clusterv1beta2.ExclusiveLabel, ExclusiveLabel: &clusterv1beta2.ExclusiveLabelSelector{Key: key, Value: value},
	})
}

func selecting(name string, labels *metav1.LabelSelector) *clusterv1beta2.ManagedClusterSet {
	return set(name, clusterv1beta2.ManagedClusterSelector{SelectorType: clusterv1beta2.LabelSelector, LabelSelector: labels})
}

func member(name string, labels map[string]string) *clusterv1.ManagedCluster {
	return &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
}

func inSet(name, set string) *clusterv1.ManagedCluster {
	return member(name, map[string]string{clusterv1beta2.ClusterSetLabel: set})
}

// newReconciler returns a reconciler on a hub that holds some objects.
func newReconciler(t *testing.T, intercept interceptor.Funcs, objects ...client.Object) *reconciler {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clusterv1.AddToScheme(scheme), clusterv1beta2.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	fake := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithStatusSubresource(&clusterv1beta2.ManagedClusterSet{}).WithInterceptorFuncs(intercept).Build()
	r := &reconciler{Options: Options{Clock: testclock.NewFakePassiveClock(noon)}, client: fake, index: newIndex()}
	for _, object := range objects {
		switch typed := object.(type) {
		case *clusterv1.ManagedCluster:
			r.index.setCluster(typed)
		case *clusterv1beta2.ManagedClusterSet:
			r.index.setSet(typed)
		}
	}
	return r
}

func (r *reconciler) run(t *testing.T, name string) error {
	t.Helper()
	_, err := r.Reconcile(t.Context(), request(name))
	return err
}

func (r *reconciler) stored(t *testing.T, name string) *clusterv1beta2.ManagedClusterSet {
	t.Helper()
	out := &clusterv1beta2.ManagedClusterSet{}
	if err := r.client.Get(t.Context(), client.ObjectKey{Name: name}, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// conditionTexts returns the conditions of a set as text, without their time.
func conditionTexts(set *clusterv1beta2.ManagedClusterSet) []string {
	var out []string
	for _, c := range set.Status.Conditions {
		out = append(out, fmt.Sprintf("%s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message))
	}
	return out
}

const (
	emptySet   = "ClusterSetEmpty=True NoClusterMatched: No ManagedCluster selected"
	floor      = "info.open-cluster-management.io/floor"
	noConflict = "Conflict=False NoConflict: No other set claims the label of this one"
)

func TestConditions(t *testing.T) {
	terminating, tainted := inSet("going", "dev"), inSet("tainted", "dev")
	terminating.DeletionTimestamp, terminating.Finalizers = &metav1.Time{Time: noon}, []string{"test/hold"}
	tainted.Spec.Taints = []clusterv1.Taint{{Key: "gpu", Effect: clusterv1.TaintEffectNoSelect}}
	tainted.Spec.HubAcceptsClient = true
	for sentence, test := range map[string]struct {
		objects []client.Object
		want    []string
	}{
		"a set without clusters is empty": {[]client.Object{exclusive("dev"), inSet("a", "other"), member("b", nil)}, []string{emptySet}},
		"terminating, unaccepted and tainted clusters count": {
			[]client.Object{exclusive("dev"), terminating, inSet("unaccepted", "dev"), tainted},
			[]string{"ClusterSetEmpty=False ClustersSelected: 3 ManagedClusters selected"},
		},
		"a set with the default type selects by its name": {
			[]client.Object{set("dev", clusterv1beta2.ManagedClusterSelector{}), inSet("a", "dev")},
			[]string{"ClusterSetEmpty=False ClustersSelected: 1 ManagedClusters selected"},
		},
		"a label selector counts the matching clusters": {
			[]client.Object{
				selecting("dev", &metav1.LabelSelector{MatchLabels: map[string]string{"gpu": "true"}}),
				member("a", map[string]string{"gpu": "true"}), member("b", nil),
			},
			[]string{"ClusterSetEmpty=False ClustersSelected: 1 ManagedClusters selected"},
		},
		"an empty label selector has every cluster": {
			[]client.Object{selecting("dev", &metav1.LabelSelector{}), member("a", nil), inSet("b", "x")},
			[]string{"ClusterSetEmpty=False ClustersSelected: 2 ManagedClusters selected"},
		},
		"a set without a label selector is empty": {[]client.Object{selecting("dev", nil), member("a", nil)}, []string{emptySet}},
		"an exclusive label counts the clusters with the label": {
			[]client.Object{byLabel("dev", floor, "2"), member("a", map[string]string{floor: "2"}), member("b", map[string]string{floor: "1"})},
			[]string{"ClusterSetEmpty=False ClustersSelected: 1 ManagedClusters selected"},
		},
		"sets that share a key do not conflict": {[]client.Object{byLabel("dev", floor, "2"), byLabel("test", floor, "1")}, []string{emptySet}},
		"sets that share key and value conflict": {
			[]client.Object{byLabel("dev", floor, "2"), byLabel("b", floor, "2"), byLabel("a", floor, "2")},
			[]string{emptySet, "Conflict=True ExclusiveLabelInUse: The label " + floor +
				"=2 is also claimed by [a,b]: its clusters are in each of these sets"},
		},
		"the clusterset label with the name of a set belongs to that set": {
			[]client.Object{exclusive("dev"), byLabel("thief", clusterv1beta2.ClusterSetLabel, "dev")},
			[]string{emptySet, "Conflict=True ExclusiveLabelInUse: The label " + clusterv1beta2.ClusterSetLabel +
				"=dev is also claimed by [thief]: its clusters are in each of these sets"},
		},
		"a set that is not exclusive does not conflict": {
			[]client.Object{selecting("dev", &metav1.LabelSelector{MatchLabels: map[string]string{floor: "2"}}), byLabel("b", floor, "2")},
			[]string{emptySet},
		},
		"the members of an invalid selector are unknown": {
			[]client.Object{selecting("dev", &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
				{Key: "b", Operator: "Far"}, {Key: "c", Operator: "Near"},
			}}), member("a", nil)},
			[]string{
				`ClusterSetEmpty=Unknown InvalidSelector: The selector is invalid, so the members are unknown: spec.clusterSelector.labelSelector.matchExpressions[0].operator: Unsupported value: "Far": supported values: "In", "NotIn", "Exists", "DoesNotExist" (and 1 more)`,
			},
		},
		"a set with an invalid selector does not affect other sets": {
			[]client.Object{exclusive("dev"), set("bad", clusterv1beta2.ManagedClusterSelector{SelectorType: "Surprise"}), inSet("a", "dev")},
			[]string{"ClusterSetEmpty=False ClustersSelected: 1 ManagedClusters selected"},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newReconciler(t, interceptor.Funcs{}, test.objects...)
			if err := r.run(t, "dev"); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, conditionTexts(r.stored(t, "dev"))); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
		})
	}
}

func TestManyConflictsAreCounted(t *testing.T) {
	objects := []client.Object{byLabel("dev", floor, "2")}
	for i := range 12 {
		objects = append(objects, byLabel(fmt.Sprintf("r%02d", i), floor, "2"))
	}
	r := newReconciler(t, interceptor.Funcs{}, objects...)
	if err := r.run(t, "dev"); err != nil {
		t.Fatal(err)
	}
	want := []string{emptySet, "Conflict=True ExclusiveLabelInUse: The label " + floor +
		"=2 is also claimed by [r00,r01,r02,r03,r04,r05,r06,r07,r08,r09] and 2 more: its clusters are in each of these sets"}
	if diff := cmp.Diff(want, conditionTexts(r.stored(t, "dev"))); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
}

func TestConflictEnds(t *testing.T) {
	conflicting := byLabel("rival", floor, "2")
	r := newReconciler(t, interceptor.Funcs{}, byLabel("dev", floor, "2"), conflicting)
	if err := r.run(t, "dev"); err != nil {
		t.Fatal(err)
	}
	r.index.deleteSet(conflicting.Name)
	if err := r.run(t, "dev"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{emptySet, noConflict}, conditionTexts(r.stored(t, "dev"))); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
}

// TestNothingIsWrittenTwice: a set with a stored status causes no further write. The time of a condition changes only with its
// status.
func TestNothingIsWrittenTwice(t *testing.T) {
	writes := 0
	r := newReconciler(t, interceptor.Funcs{SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object,
		p client.Patch, opts ...client.SubResourcePatchOption,
	) error {
		writes++
		return c.SubResource(sub).Patch(ctx, o, p, opts...)
	}}, exclusive("dev"), inSet("a", "dev"))
	step := func(want int) {
		t.Helper()
		if err := r.run(t, "dev"); err != nil {
			t.Fatal(err)
		}
		if writes != want {
			t.Errorf("%d writes, want %d", writes, want)
		}
	}
	step(1)
	r.Clock = testclock.NewFakePassiveClock(noon.Add(time.Hour))
	step(1)
	r.index.setCluster(inSet("b", "dev"))
	step(2)
	got := meta.FindStatusCondition(r.stored(t, "dev").Status.Conditions, clusterv1beta2.ManagedClusterSetConditionEmpty)
	if !got.LastTransitionTime.Time.Equal(noon) || got.Message != "2 ManagedClusters selected" {
		t.Errorf("the condition is %q since %s, want 2 clusters since %s", got.Message, got.LastTransitionTime, noon)
	}
}

func TestBuiltInSets(t *testing.T) {
	edited := func(name string, selector clusterv1beta2.ManagedClusterSelector,
		annotations map[string]string,
	) *clusterv1beta2.ManagedClusterSet {
		out := set(name, selector)
		out.Annotations = annotations
		out.Spec.ManagedNamespaces = []clusterv1.ManagedNamespaceConfig{{Name: "kept"}}
		return out
	}
	matching := clusterv1beta2.ManagedClusterSelector{
		SelectorType: clusterv1beta2.LabelSelector, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}},
	}
	kept := []clusterv1.ManagedNamespaceConfig{{Name: "kept"}}
	frozen := map[string]string{clusterv1beta2.AutoUpdateAnnotation: "false"}
	for sentence, test := range map[string]struct {
		name string
		have *clusterv1beta2.ManagedClusterSet
		want *clusterv1beta2.ManagedClusterSetSpec
	}{
		"default is made": {"default", nil, &clusterv1beta2.ManagedClusterSetSpec{
			ClusterSelector: builtin.Set("default").Spec.ClusterSelector,
		}},
		"global is made": {"global", nil, &clusterv1beta2.ManagedClusterSetSpec{
			ClusterSelector: builtin.Set("global").Spec.ClusterSelector,
		}},
		"no other set is created": {"dev", nil, nil},
		"default is restored": {
			"default", edited("default", matching, nil),
			&clusterv1beta2.ManagedClusterSetSpec{ClusterSelector: builtin.Set("default").Spec.ClusterSelector, ManagedNamespaces: kept},
		},
		"global is restored": {
			"global", edited("global", matching, nil),
			&clusterv1beta2.ManagedClusterSetSpec{ClusterSelector: builtin.Set("global").Spec.ClusterSelector, ManagedNamespaces: kept},
		},
		"one may opt out": {
			"global", edited("global", matching, frozen),
			&clusterv1beta2.ManagedClusterSetSpec{ClusterSelector: matching, ManagedNamespaces: kept},
		},
		"only false opts out": {
			"global", edited("global", matching, map[string]string{clusterv1beta2.AutoUpdateAnnotation: "no"}),
			&clusterv1beta2.ManagedClusterSetSpec{ClusterSelector: builtin.Set("global").Spec.ClusterSelector, ManagedNamespaces: kept},
		},
		"others are left alone": {
			"dev", edited("dev", matching, nil),
			&clusterv1beta2.ManagedClusterSetSpec{ClusterSelector: matching, ManagedNamespaces: kept},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			var objects []client.Object
			if test.have != nil {
				objects = append(objects, test.have)
			}
			r := newReconciler(t, interceptor.Funcs{}, objects...)
			if err := r.run(t, test.name); err != nil {
				t.Fatal(err)
			}
			got := &clusterv1beta2.ManagedClusterSet{}
			err := r.client.Get(t.Context(), client.ObjectKey{Name: test.name}, got)
			if test.want == nil {
				if client.IgnoreNotFound(err) != nil || err == nil {
					t.Errorf("the set exists, or cannot be read: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(*test.want, got.Spec); diff != "" {
				t.Errorf("spec (-want +got):\n%s", diff)
			}
		})
	}
}

func TestATerminatingSetIsLeftAlone(t *testing.T) {
	going := exclusive("default")
	going.DeletionTimestamp, going.Finalizers = &metav1.Time{Time: noon}, []string{"test/hold"}
	r := newReconciler(t, interceptor.Funcs{}, going)
	if err := r.run(t, "default"); err != nil {
		t.Fatal(err)
	}
	if got := conditionTexts(r.stored(t, "default")); got != nil {
		t.Errorf("conditions %v, want none", got)
	}
}

func TestFailuresAreReturned(t *testing.T) {
	global := set("global", clusterv1beta2.ManagedClusterSelector{})
	for sentence, test := range map[string]struct {
		name      string
		intercept interceptor.Funcs
	}{
		"of reading the set": {"dev", interceptor.Funcs{Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object,
			...client.GetOption,
		) error {
			return errBoom
		}}},
		"of writing the status": {"dev", interceptor.Funcs{SubResourcePatch: func(context.Context, client.Client, string, client.Object,
			client.Patch, ...client.SubResourcePatchOption,
		) error {
			return errBoom
		}}},
		"of creating a built-in set": {"default", interceptor.Funcs{
			Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
				return errBoom
			},
		}},
		"of restoring a selector": {"global", interceptor.Funcs{Patch: func(context.Context, client.WithWatch, client.Object, client.Patch,
			...client.PatchOption,
		) error {
			return errBoom
		}}},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newReconciler(t, test.intercept, exclusive("dev"), global.DeepCopy())
			if err := r.run(t, test.name); !errors.Is(err, errBoom) {
				t.Errorf("error %v, want %v", err, errBoom)
			}
		})
	}
}

// TestSetsEnqueued: an event enqueues only the sets whose status it can change.
func TestSetsEnqueued(t *testing.T) {
	dev, test, twin, every := exclusive("dev"), exclusive("test"), byLabel("twin", clusterv1beta2.ClusterSetLabel, "dev"),
		selecting("every", &metav1.LabelSelector{})
	bad := set("bad", clusterv1beta2.ManagedClusterSelector{SelectorType: "Surprise"})
	elsewhere := selecting("elsewhere", &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: clusterv1beta2.ClusterSetLabel, Operator: metav1.LabelSelectorOpNotIn, Values: []string{"dev"}},
	}})
	member := inSet("a", "dev")
	heartbeat := member.DeepCopy()
	heartbeat.Status.Conditions = []metav1.Condition{{Type: "ManagedClusterConditionAvailable"}}
	coloured := member.DeepCopy()
	coloured.Labels["colour"] = "red"
	moved := dev.DeepCopy()
	moved.Generation, moved.Spec.ClusterSelector = 2, clusterv1beta2.ManagedClusterSelector{SelectorType: clusterv1beta2.LabelSelector}
	annotated := dev.DeepCopy()
	annotated.Annotations = map[string]string{"a": "b"}
	for sentence, happens := range map[string]struct {
		event func(clusters, sets toolscache.ResourceEventHandler)
		want  []string
	}{
		"a cluster is created": {
			func(clusters, _ toolscache.ResourceEventHandler) { clusters.OnAdd(inSet("b", "dev"), false) },
			[]string{"dev", "every", "twin"},
		},
		"a cluster is deleted": {
			func(clusters, _ toolscache.ResourceEventHandler) { clusters.OnDelete(member) },
			[]string{"dev", "every", "twin"},
		},
		"a tombstone of a cluster": {
			func(clusters, _ toolscache.ResourceEventHandler) {
				clusters.OnDelete(toolscache.DeletedFinalStateUnknown{Obj: member})
			},
			[]string{"dev", "every", "twin"},
		},
		"a cluster moves to another set": {func(clusters, _ toolscache.ResourceEventHandler) {
			clusters.OnUpdate(member, inSet("a", "test"))
		}, []string{"dev", "elsewhere", "test", "twin"}},
		"another label of a cluster changes": {func(clusters, _ toolscache.ResourceEventHandler) { clusters.OnUpdate(member, coloured) }, nil},
		"a heartbeat":                        {func(clusters, _ toolscache.ResourceEventHandler) { clusters.OnUpdate(member, heartbeat) }, nil},
		"a set is created": {func(_, sets toolscache.ResourceEventHandler) {
			sets.OnAdd(byLabel("third", clusterv1beta2.ClusterSetLabel, "dev"), false)
		}, []string{"dev", "third", "twin"}},
		"a set is deleted":          {func(_, sets toolscache.ResourceEventHandler) { sets.OnDelete(dev) }, []string{"dev", "twin"}},
		"an unknown set is deleted": {func(_, sets toolscache.ResourceEventHandler) { sets.OnDelete(exclusive("never")) }, []string{"never"}},
		"a set changes its label": {
			func(_, sets toolscache.ResourceEventHandler) { sets.OnUpdate(dev, moved) },
			[]string{"dev", "twin"},
		},
		"a set is annotated": {func(_, sets toolscache.ResourceEventHandler) { sets.OnUpdate(dev, annotated) }, []string{"dev"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newReconciler(t, interceptor.Funcs{}, dev, test, twin, every, bad, elsewhere, member)
			q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
			defer q.ShutDown()
			s := &source{index: r.index, queue: q, synced: func() bool { return true }}
			if err := s.WaitForSync(t.Context()); err != nil {
				t.Fatal(err)
			}
			happens.event(informer.To(member, s.setCluster, s.deleteCluster).Handler, informer.To(dev, s.setSet, s.deleteSet).Handler)
			if diff := cmp.Diff(happens.want, queued(q)); diff != "" {
				t.Errorf("enqueued (-want +got):\n%s", diff)
			}
		})
	}
}

// failingCache is a cache whose methods fail.
type failingCache struct{ cache.Cache }

func (failingCache) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	return nil, errBoom
}

// TestWaitForSync: the built-in sets are enqueued before the informers are synced.
func TestWaitForSync(t *testing.T) {
	q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer q.ShutDown()
	if err := (&source{cache: failingCache{}, index: newIndex()}).Start(t.Context(), q); !errors.Is(err, errBoom) {
		t.Errorf("Start = %v, want %v", err, errBoom)
	}
	if diff := cmp.Diff([]string{"default", "global"}, queued(q)); diff != "" {
		t.Errorf("enqueued (-want +got):\n%s", diff)
	}
}

// queued empties a queue.
func queued(q queue) []string {
	var out []string
	for q.Len() > 0 {
		item, _ := q.Get()
		out = append(out, item.Name)
		q.Done(item)
	}
	slices.Sort(out)
	return out
}

// edit gives a set another selector, as a user does, and reconciles it.
func (r *reconciler) edit(t *testing.T, name string, change func(*clusterv1beta2.ManagedClusterSet)) *clusterv1beta2.ManagedClusterSet {
	t.Helper()
	edited := r.stored(t, name)
	edited.Generation++
	change(edited)
	if err := r.client.Update(t.Context(), edited); err != nil {
		t.Fatal(err)
	}
	r.index.setSet(edited)
	if err := r.run(t, name); err != nil {
		t.Fatal(err)
	}
	out := r.stored(t, name)
	r.index.setSet(out)
	return out
}

func envIs(key, value string) clusterv1beta2.ManagedClusterSelector {
	return clusterv1beta2.ManagedClusterSelector{
		SelectorType: clusterv1beta2.LabelSelector, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{key: value}},
	}
}

func TestAnEditThatTakesEveryMemberAwayIsHeld(t *testing.T) {
	const heldText = "SelectorHeld=True SelectsNothing: The selector of the spec selects no ManagedCluster: no cluster has the label " +
		`"environmentt" (2 have "environment"). The 2 members of the selector before stay, until a cluster matches or the selector changes. ` +
		"To follow the spec: kubectl berth holds release managedclusterset/dev --hold Selector --reason WHY"
	const two = "ClusterSetEmpty=False ClustersSelected: 2 ManagedClusters selected"
	typo := func(set *clusterv1beta2.ManagedClusterSet) { set.Spec.ClusterSelector = envIs("environmentt", "live") }
	for sentence, c := range map[string]struct {
		edit func(*clusterv1beta2.ManagedClusterSet)
		// follow is set where edits that leave nothing are followed; later is what happens after the edit.
		follow bool
		later  func(t *testing.T, r *reconciler)
		want   []string
	}{
		"a key that no cluster has": {edit: typo, want: []string{two, heldText}},
		"a selector that is absent": {
			edit: func(set *clusterv1beta2.ManagedClusterSet) { set.Spec.ClusterSelector.LabelSelector = nil },
			want: []string{two, strings.Replace(heldText, `: no cluster has the label "environmentt" (2 have "environment")`, "", 1)},
		},
		"a key that one cluster has": {
			edit: func(set *clusterv1beta2.ManagedClusterSet) { set.Spec.ClusterSelector = envIs("one", "x") },
			want: []string{"ClusterSetEmpty=False ClustersSelected: 1 ManagedClusters selected"},
		},
		"it is switched off": {edit: typo, follow: true, want: []string{emptySet}},
		"it is confirmed": {edit: typo, want: []string{emptySet}, later: func(t *testing.T, r *reconciler) {
			t.Helper()
			set := r.stored(t, "dev")
			set.Annotations = map[string]string{clusterv1beta2.ConfirmedSelectorAnnotation: fmt.Sprint(set.Generation)}
			if err := errors.Join(r.client.Update(t.Context(), set), r.run(t, "dev")); err != nil {
				t.Fatal(err)
			}
		}},
		"a cluster matches": {
			edit: typo, want: []string{"ClusterSetEmpty=False ClustersSelected: 1 ManagedClusters selected"},
			later: func(t *testing.T, r *reconciler) {
				t.Helper()
				r.index.markSynced()
				if got := r.index.setCluster(member("c", map[string]string{"environmentt": "live"})); !slices.Equal(got, []string{"dev"}) {
					t.Errorf("a cluster that matches enqueues %v", got)
				}
				if err := r.run(t, "dev"); err != nil {
					t.Fatal(err)
				}
			},
		},
		"the members go": {edit: typo, want: []string{emptySet}, later: func(t *testing.T, r *reconciler) {
			t.Helper()
			r.index.deleteCluster("a")
			r.index.deleteCluster("b")
			if err := r.run(t, "dev"); err != nil {
				t.Fatal(err)
			}
		}},
		"the edit is undone": {edit: typo, want: []string{two}, later: func(t *testing.T, r *reconciler) {
			t.Helper()
			r.edit(t, "dev", func(set *clusterv1beta2.ManagedClusterSet) { set.Spec.ClusterSelector = envIs("environment", "live") })
		}},
		"a second typo": {edit: typo, want: []string{two, heldText}, later: func(t *testing.T, r *reconciler) {
			t.Helper()
			r.edit(t, "dev", func(set *clusterv1beta2.ManagedClusterSet) { set.Spec.ClusterSelector = envIs("environmentt", "lief") })
		}},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newReconciler(t, interceptor.Funcs{}, set("dev", envIs("environment", "live")),
				member("a", map[string]string{"environment": "live", "one": "x"}), member("b", map[string]string{"environment": "live"}))
			r.FollowEmptyingEdits = c.follow
			if err := r.run(t, "dev"); err != nil {
				t.Fatal(err)
			}
			r.index.setSet(r.stored(t, "dev"))
			r.edit(t, "dev", c.edit)
			if c.later != nil {
				c.later(t, r)
			}
			got := r.stored(t, "dev")
			if diff := cmp.Diff(c.want, conditionTexts(got)); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
			wantHeld := len(c.want) > 1
			if held := got.Status.ClusterSelector.LabelSelector != nil &&
				!equality.Semantic.DeepEqual(*got.Status.ClusterSelector, got.Spec.ClusterSelector); held != wantHeld {
				t.Errorf("the selector in effect is %v, the one of the spec %v", got.Status.ClusterSelector, got.Spec.ClusterSelector)
			}
		})
	}
}
