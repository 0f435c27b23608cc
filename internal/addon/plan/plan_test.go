package plan_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/decision"
	"github.com/berth-project/berth/internal/addon/plan"
	"github.com/berth-project/berth/internal/kube/evidence"
	"github.com/berth-project/berth/internal/kube/reading"
	"github.com/berth-project/berth/rollout"
)

// TestAnAddOnReachesItsClustersOneByOne follows a canary: installed in steps, configured in steps, stopped by a failure, and undone.
func TestAnAddOnReachesItsClustersOneByOne(t *testing.T) {
	w := newState(t, "p="+oneByOne)
	w.selects("p", "a b c")
	for i, want := range []string{"a=1", "a=1 b=1", "a=1 b=1 c=1"} {
		w.settle(t)
		if got := w.reaches(); got != want {
			t.Fatalf("%q, want %q", got, want)
		}
		w.reports(fleetNames[i], true)
		w.observe()
	}
	w.settle(t)
	good := func() string {
		return w.addOn.Status.InstallProgressions[0].ConfigReferences[0].LastKnownGoodConfig.SpecHash
	}
	if w.progressing() != "False/Completed" || good() != "1" {
		t.Fatalf("%s, last known good %s", w.progressing(), good())
	}

	w.configs["base"] = "2"
	w.settle(t)
	w.reports("a", false)
	w.observe()
	out := w.settle(t)
	if got, want := w.reaches(), "a=2 b=1 c=1"; got != want || w.progressing() != "False/Failed" || good() != "1" {
		t.Fatalf("%q, want %q; %s, last known good %s", got, want, w.progressing(), good())
	}
	if got, want := codes(out), "a Failing, b WaitsForRepair, c WaitsForRepair"; got != want {
		t.Errorf("%s, want %s", got, want)
	}

	w.configs["base"] = "1" // which a has applied before, so that it has nothing to report
	w.settle(t)
	if got, want := w.reaches(), "a=1 b=1 c=1"; got != want || w.progressing() != "False/Completed" {
		t.Errorf("%q, want %q; %s", got, want, w.progressing())
	}
}

// TestANewClusterGetsTheLastKnownGoodConfiguration holds that a cluster which joins while a rollout stands still runs what all others run.
func TestANewClusterGetsTheLastKnownGoodConfiguration(t *testing.T) {
	w := newState(t, "p="+oneByOne)
	w.selects("p", "a b")
	for range 3 {
		w.settle(t)
		w.reports("a", true)
		w.reports("b", true)
		w.observe()
	}
	w.settle(t)
	w.configs["next"], w.addOn.Spec.SupportedConfigs[0].DefaultConfig.Name = "2", "next"
	w.settle(t)
	w.reports("a", false)
	w.selects("p", "a b c")
	w.observe()
	w.settle(t)
	if got, want := w.reaches(), "a=2 b=1 c=1"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestAMistakeRemovesNothing lists what removes no add-on, and what removes it.
func TestAMistakeRemovesNothing(t *testing.T) {
	selectsNone := func(w *state) { w.selects("p", "") }
	for sentence, test := range map[string]struct {
		change func(w *state)
		want   string
	}{
		"the placement is missing":       {func(w *state) { clear(w.placements) }, "a=1"},
		"it is being deleted":            {func(w *state) { w.selects("p", "").DeletionTimestamp = new(metav1.Now()) }, "a=1"},
		"it has no slice":                {func(w *state) { w.selects("p", "-") }, "a=1"},
		"a slice is missing":             {func(w *state) { w.selects("p", "").Status.NumberOfSelectedClusters = 1 }, "a=1"},
		"its spec is not decided":        {func(w *state) { w.selects("p", "").Generation = 2 }, "a=1"},
		"its status is not written":      {func(w *state) { w.selects("p", "").Status.Conditions = nil }, "a=1"},
		"the strategy has no placements": {func(w *state) { w.addOn.Spec.InstallStrategy.Placements = nil }, "a=1"},
		"the strategy is Manual": {func(w *state) {
			w.addOn.Spec.InstallStrategy.Type = addonv1alpha1.AddonInstallStrategyManual
		}, "a=1"},
		"a placement is renamed to a missing one": {func(w *state) { w.addOn.Spec.InstallStrategy.Placements[0].Name = "typo" }, "a=1"},
		"it is misconfigured": {func(w *state) {
			object := w.selects("p", "")
			object.Status.Conditions = append(object.Status.Conditions,
				metav1.Condition{Type: "PlacementMisconfigured", Status: metav1.ConditionTrue, ObservedGeneration: 1})
		}, "a=1"},
		"the cluster is being deleted": {func(w *state) {
			selectsNone(w)
			w.clusters["a"].DeletionTimestamp = new(metav1.Now())
		}, "a=1"},
		"the cluster keeps add-ons of placements out": {func(w *state) {
			selectsNone(w)
			w.clusters["a"].Annotations = map[string]string{addonv1alpha1.DisableInstallationAnnotation: ""}
		}, "a=1"},
		"the add-on is installed by hand": {func(w *state) {
			selectsNone(w)
			w.stored["a"].OwnerReferences = nil
		}, "a=1"},
		"the add-on installs itself": {func(w *state) {
			selectsNone(w)
			w.addOn.Annotations = map[string]string{addonv1alpha1.LifecycleAnnotation: "self"}
		}, "a=1"},
		"the configuration is missing": {func(w *state) { clear(w.configs) }, "a=1"},
		"another placement is missing": {func(w *state) {
			selectsNone(w)
			w.addOn.Spec.InstallStrategy.Placements = append(w.addOn.Spec.InstallStrategy.Placements,
				addonv1alpha1.PlacementStrategy{PlacementRef: addonv1alpha1.PlacementRef{Namespace: space, Name: "q"}})
		}, "a=1"},
		"a complete decision selects no cluster": {selectsNone, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newState(t, "p")
			w.selects("p", "a")
			w.settle(t)
			w.reports("a", true)
			test.change(w)
			w.observe()
			w.settle(t)
			if got := w.reaches(); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

// TestWhereAnAddOnIsInstalled lists what keeps an add-on out of a selected cluster.
func TestWhereAnAddOnIsInstalled(t *testing.T) {
	for sentence, test := range map[string]struct {
		change func(w *state)
		want   string
	}{
		"nothing":                    {func(*state) {}, "a=1"},
		"the cluster does not exist": {func(w *state) { delete(w.clusters, "a") }, ""},
		"it is being deleted":        {func(w *state) { w.clusters["a"].DeletionTimestamp = new(metav1.Now()) }, ""},
		"it is imported": {func(w *state) {
			w.clusters["a"].Annotations = map[string]string{clusterv1.InventoryProfileAnnotationKey: "fleet/a"}
		}, ""},
		"it keeps add-ons of placements out": {func(w *state) {
			w.clusters["a"].Annotations = map[string]string{addonv1alpha1.DisableInstallationAnnotation: "true"}
		}, ""},
		"the strategy is Manual":           {func(w *state) { w.addOn.Spec.InstallStrategy.Type = "Manual" }, ""},
		"the add-on is being deleted":      {func(w *state) { w.addOn.DeletionTimestamp = new(metav1.Now()) }, ""},
		"the configuration does not exist": {func(w *state) { clear(w.configs) }, ""},
		"the kind of configuration is not supported": {func(w *state) {
			w.addOn.Spec.InstallStrategy.Placements[0].Configs = []addonv1alpha1.AddOnConfig{
				{
					ConfigGroupResource: addonv1alpha1.ConfigGroupResource{Resource: "secrets"},
					ConfigReferent:      addonv1alpha1.ConfigReferent{Namespace: "b", Name: "x"},
				},
			}
		}, ""},
		"there are too many configurations": {func(w *state) {
			for i := range 30 {
				w.configs[fmt.Sprint(i)] = "1"
				w.addOn.Spec.InstallStrategy.Placements[0].Configs = append(w.addOn.Spec.InstallStrategy.Placements[0].Configs, configOf(fmt.Sprint(i)))
			}
		}, ""},
		"the API server refuses it": {func(w *state) {
			hash := w.planned()[0].Hash
			w.faults["a"] = evidence.Fault{Hash: hash, Permanent: true, Message: "no", Since: w.now, Retry: w.now.Add(time.Hour)}
		}, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newState(t, "p")
			w.selects("p", "a")
			test.change(w)
			w.settle(t)
			if got := w.reaches(); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

// TestTheRemovalBudget holds that a tenth of the add-ons goes each minute, and at least one.
func TestTheRemovalBudget(t *testing.T) {
	w := newState(t, "p")
	var names []string
	for i := range 40 {
		name := fmt.Sprintf("c%02d", i)
		names = append(names, name)
		w.clusters[name] = &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	w.selects("p", strings.Join(names, " "))
	w.settle(t)
	w.selects("p", "")
	for i, want := range []int{36, 33, 30} {
		out := w.settle(t)
		if len(w.stored) != want || !out.Until.Equal(w.now.Add(plan.RemovalWindow)) {
			t.Errorf("window %d: %d are left, want %d; until %s", i, len(w.stored), want, out.Until)
		}
		w.now = w.now.Add(plan.RemovalWindow)
	}
	w = newState(t, "p")
	w.selects("p", "a b c")
	w.settle(t)
	w.selects("p", "")
	w.settle(t)
	if len(w.stored) != 2 {
		t.Errorf("%d are left, want 2", len(w.stored))
	}
}

// TestARefusedRemovalHoldsUpNoOther holds that the next cluster loses the add-on, and that the message names the refusal.
func TestARefusedRemovalHoldsUpNoOther(t *testing.T) {
	w := newState(t, "p")
	w.selects("p", "a b c")
	w.settle(t)
	w.selects("p", "")
	write := plan.Plan(w.input()).Writes[0]
	w.faults[write.Cluster] = evidence.Fault{
		Hash: write.Hash, Permanent: true, Message: "a policy keeps it", Since: w.now,
		Retry: w.now.Add(time.Hour),
	}
	out := w.settle(t)
	if got, want := w.reaches(), "a=1 c=1"; got != want || write.Cluster != "a" {
		t.Errorf("%q, want %q; the first removal is in %s", got, want, write.Cluster)
	}
	if got, want := out.Status.InstallProgressions[0].Conditions[0].Message,
		"not removed: a (a policy keeps it)"; !strings.Contains(got, want) {
		t.Errorf("the message %q lacks %q", got, want)
	}
}

// TestANewProcessRemovesOneAtMost holds that a manager which starts again and again removes no tenth each time.
func TestANewProcessRemovesOneAtMost(t *testing.T) {
	w := newState(t, "p")
	var names []string
	for i := range 40 {
		names = append(names, fmt.Sprintf("c%02d", i))
		w.clusters[names[i]] = &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: names[i]}}
	}
	w.selects("p", strings.Join(names, " "))
	w.settle(t)
	w.selects("p", "")
	w.started = w.now
	out := w.settle(t)
	if len(w.stored) != 39 || !out.Until.Equal(w.started.Add(plan.RemovalWindow)) {
		t.Errorf("%d are left, want 39; until %s", len(w.stored), out.Until)
	}
	w.now = w.now.Add(plan.RemovalWindow)
	if w.settle(t); len(w.stored) != 36 {
		t.Errorf("a window later %d are left, want 36", len(w.stored))
	}
}

// TestALostStrategyKeepsTheConfigurations holds that what a strategy installed keeps the configurations of its placement once it is Manual.
func TestALostStrategyKeepsTheConfigurations(t *testing.T) {
	w := newState(t, "q")
	w.configs["special"], w.configs["own"] = "s", "o"
	w.selects("q", "a b")
	w.byHand("c")
	w.observe()
	w.settle(t)
	w.addOn.Spec.InstallStrategy = addonv1alpha1.InstallStrategy{Type: addonv1alpha1.AddonInstallStrategyManual}
	w.configs["base"] = "2"
	w.stored["b"].Spec.Configs = []addonv1alpha1.AddOnConfig{configOf("own")}
	w.observe()
	w.settle(t)
	if got, want := w.reaches(), "a=s b=o c=2"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestAnUnreadConfigurationChangesNothing holds that a failed read is no fault of a user: nothing is written, and the status stays.
func TestAnUnreadConfigurationChangesNothing(t *testing.T) {
	w := newState(t, "p="+oneByOne)
	w.selects("p", "a b")
	w.settle(t)
	w.reports("a", true)
	w.observe()
	w.settle(t)
	before := w.addOn.Status.DeepCopy()
	w.unread = true
	w.selects("p", "a b c")
	if out := w.pass(t); len(out.Writes) > 0 {
		t.Errorf("%d writes, the first is %+v", len(out.Writes), out.Writes[0])
	}
	if diff := cmp.Diff(before, &w.addOn.Status); diff != "" {
		t.Errorf("the status (-before +after):\n%s", diff)
	}
	w.unread = false
	w.settle(t)
	if got, want := w.reaches(), "a=1 b=1"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestTheClockOfAnAddOnSkipsNothing holds that the soak time begins at the start that the hub recorded, and that a failure of before fails
// no new start.
func TestTheClockOfAnAddOnSkipsNothing(t *testing.T) {
	w := newState(t, "p={type: Progressive, progressive: {maxConcurrency: 1, minSuccessTime: 5m}}")
	w.selects("p", "a b")
	w.settle(t)
	past := w.now
	w.now = w.now.Add(time.Hour)
	w.configs["base"] = "2"
	w.observe()
	w.settle(t) // a has to reach 2
	object := w.stored["a"]
	object.Status.Conditions = append(object.Status.Conditions, metav1.Condition{
		Type: "Degraded", Status: metav1.ConditionTrue, Reason: "Down", LastTransitionTime: metav1.NewTime(past),
	})
	w.observe()
	if got, want := codes(w.settle(t)), "a UnderWay, b WaitsForPlace"; got != want {
		t.Errorf("degraded by the configuration before: %s, want %s", got, want)
	}
	meta.RemoveStatusCondition(&w.stored["a"].Status.Conditions, "Degraded")
	at := w.now
	w.now = past // the clock of the add-on
	w.reports("a", true)
	w.now = at
	w.observe()
	if got, want := codes(w.settle(t)), "a Soaking, b WaitsForPlace"; got != want {
		t.Errorf("reported in the past: %s, want %s", got, want)
	}
}

// TestLongAnnotationsAreReported holds that an add-on is not installed without the settings of its cluster.
func TestLongAnnotationsAreReported(t *testing.T) {
	w := newState(t, "p")
	w.selects("p", "a b")
	w.clusters["a"].Annotations = map[string]string{addonv1alpha1.AnnotationPrefix + "hosting": strings.Repeat("x", 5000)}
	out := w.settle(t)
	if got, want := w.reaches(), "b=1"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := out.Verdicts[0].Message, "at most 4096 are copied"; !strings.Contains(got, want) {
		t.Errorf("the verdict %q lacks %q", got, want)
	}
}

// TestTheLastPlacementRules holds whose configurations a cluster of two placements has, and that a missing placement changes none.
func TestTheLastPlacementRules(t *testing.T) {
	w := newState(t, "p", "q")
	w.configs["special"] = "s"
	w.selects("p", "a b")
	w.selects("q", "b")
	w.byHand("c")
	w.observe()
	w.settle(t)
	if got, want := w.reaches(), "a=1 b=s c=1"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	delete(w.placements, types.NamespacedName{Namespace: space, Name: "q"})
	out := w.settle(t)
	if got, want := w.reaches(), "a=1 b=s c=1"; got != want {
		t.Errorf("without q: %q, want %q", got, want)
	}
	if got, want := codes(out), "a UnderWay, b WaitsForDecision, c "; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	w.selects("q", "")
	w.settle(t)
	if got, want := w.reaches(), "a=1 b=1 c=1"; got != want {
		t.Errorf("q selects no cluster: %q, want %q", got, want)
	}
}

// TestTheConfigurationOfAClusterReplacesThatOfItsPlacement also holds that the fault of one cluster stops no other.
func TestTheConfigurationOfAClusterReplacesThatOfItsPlacement(t *testing.T) {
	w := newState(t, "p")
	w.configs["own"] = "o"
	w.byHand("a", "own")
	w.byHand("b", "missing")
	w.selects("p", "a b c")
	w.observe()
	out := w.settle(t)
	if got, want := w.reaches(), "a=o b= c=1"; got != want || inState(out, rollout.StateSkip) != 1 {
		t.Errorf("%q, want %q; %s", got, want, codes(out))
	}
	condition := meta.FindStatusCondition(w.stored["b"].Status.Conditions, "Configured")
	if condition == nil || condition.Status != metav1.ConditionFalse || !strings.Contains(condition.Message, "fleet/missing does not exist") {
		t.Errorf("Configured of b: %+v", condition)
	}
}

// TestAnUnavailableCanaryHasFailed holds that a rollout stops where the health of the add-on goes after its configuration was applied.
func TestAnUnavailableCanaryHasFailed(t *testing.T) {
	w := newState(t, "p={type: Progressive, progressive: {maxConcurrency: 1, minSuccessTime: 5m}}")
	w.selects("p", "a b")
	w.settle(t)
	w.reports("a", true)
	meta.SetStatusCondition(&w.stored["a"].Status.Conditions, metav1.Condition{
		Type: "Available", Status: metav1.ConditionFalse,
		Reason: "ManagedClusterAddOnLeaseUpdateStopped", LastTransitionTime: metav1.NewTime(w.now),
	})
	w.now = w.now.Add(time.Hour)
	w.observe()
	out := w.settle(t)
	if got, want := codes(out), "a Failing, b WaitsForRepair"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestSpecHash holds what the hash of a configuration covers.
func TestSpecHash(t *testing.T) {
	hash := func(content map[string]any) string {
		out, err := plan.SpecHash(content)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	base := map[string]any{
		"apiVersion": "v1", "kind": "Config", "metadata": map[string]any{"name": "a"},
		"spec": map[string]any{"b": "2", "a": int64(1)}, "status": map[string]any{},
	}
	// sha256sum of {"spec":{"a":1,"b":"2"}}
	if got, want := hash(base), "d38c23863710cb43666fdbde19d321e9c9b4385c068cc9d3ef4b004d5f7e219b"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	other := map[string]any{"apiVersion": "v2", "metadata": map[string]any{"name": "b"}, "spec": map[string]any{"a": int64(1), "b": "2"}}
	if hash(base) != hash(other) {
		t.Error("the hash covers more than the content")
	}
	if hash(base) == hash(map[string]any{"spec": map[string]any{"a": int64(1)}}) {
		t.Error("the hash does not cover the content")
	}
}

// TestNoClusterStartsBeforeTheCanariesAreDecided holds that a decision whose first slice is not read yet starts no cluster of another
// group.
func TestNoClusterStartsBeforeTheCanariesAreDecided(t *testing.T) {
	w := newState(t, "p={type: Progressive, progressive: {maxConcurrency: 1, mandatoryDecisionGroups: [{groupIndex: 0}]}}")
	object := w.selects("p", "a|b c")
	key := types.NamespacedName{Namespace: space, Name: "p"}
	complete := w.placements[key]
	slice := &clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{
		Namespace: space, Name: "p-1", Labels: map[string]string{clusterv1beta1.PlacementLabel: "p", clusterv1beta1.DecisionGroupIndexLabel: "1"},
	}}
	slice.Status.Decisions = []clusterv1beta1.ClusterDecision{{ClusterName: "b"}, {ClusterName: "c"}}
	w.placements[key] = reading.Placement{Object: object, Decisions: decision.Of(slice)}
	out := w.settle(t)
	const message = "Groups of the decision may be missing, so no cluster starts: the status has 3 clusters, the slices have 2"
	if got := w.reaches(); got != "" || codes(out) != "b WaitsForProof, c WaitsForProof" || out.Verdicts[0].Message != message ||
		w.progressing() != "False/Undecided" {
		t.Errorf("%q, %s, %q, %s", got, codes(out), out.Verdicts[0].Message, w.progressing())
	}
	w.placements[key] = complete
	w.settle(t)
	if got := w.reaches(); got != "a=1" {
		t.Errorf("%q, want the canary alone", got)
	}
}

// TestADelayedWriteIsReported holds that the status has the reason of a write that is sent again, such as where a cluster has no namespace.
func TestADelayedWriteIsReported(t *testing.T) {
	w := newState(t, "p")
	w.selects("p", "a b")
	w.faults["a"] = evidence.Fault{Hash: w.planned()[0].Hash, Message: `namespaces "a" not found`, Since: w.now, Retry: w.now.Add(time.Minute)}
	w.settle(t)
	condition := w.addOn.Status.InstallProgressions[0].Conditions[0]
	if want := `1 of 2 clusters not written yet: a (the API server refused the write: namespaces "a" not found)`; !strings.Contains(
		condition.Message, want) {
		t.Errorf("message %q, want %q in it", condition.Message, want)
	}
	delete(w.faults, "a")
	w.settle(t)
	if condition = w.addOn.Status.InstallProgressions[0].Conditions[0]; strings.Contains(condition.Message, "not written") {
		t.Errorf("message %q after the write", condition.Message)
	}
}

// TestAnAddOnOfAUserWaitsForTheCanaries installs an add-on by hand before the placement is decided: it is configured in its turn.
func TestAnAddOnOfAUserWaitsForTheCanaries(t *testing.T) {
	w := newState(t, "p={type: Progressive, progressive: {maxConcurrency: 1, mandatoryDecisionGroups: [{groupIndex: 0}]}}")
	object := w.selects("p", "a|b c")
	key := types.NamespacedName{Namespace: space, Name: "p"}
	complete := w.placements[key]
	w.byHand("b")
	w.observe()
	w.placements[key] = reading.Placement{Object: object, Decisions: decision.Of()}
	w.settle(t)
	if got := w.reaches(); got != "b=" {
		t.Errorf("%q before the decision, want no configuration", got)
	}
	w.placements[key] = complete
	w.settle(t)
	if got := w.reaches(); got != "a=1 b=" {
		t.Errorf("%q, want the canary alone", got)
	}
}

// TestAMisconfiguredPlacementStartsWholeGroups holds that only missing slices hold clusters back, not a mistake in the spec since.
func TestAMisconfiguredPlacementStartsWholeGroups(t *testing.T) {
	w := newState(t, "p={type: Progressive, approval: {required: [{groupName: misspelt}]}, progressive: {maxConcurrency: 1}}")
	object := w.selects("p", "a b")
	object.Status.Conditions = append(object.Status.Conditions,
		metav1.Condition{Type: clusterv1beta1.PlacementConditionMisconfigured, Status: metav1.ConditionTrue})
	w.settle(t)
	if got := w.reaches(); got != "a=1" {
		t.Errorf("%q, want the first cluster", got)
	}
}

func TestNothingStartsByARightThatIsBeingWithdrawn(t *testing.T) {
	w := newState(t, "p={type: All}")
	w.selects("p", "a b")
	w.settle(t)
	key := types.NamespacedName{Namespace: space, Name: "p"}
	withdraw := func(going map[string]string) {
		placement := w.placements[key]
		placement.Going = going
		w.placements[key] = placement
	}
	withdraw(map[string]string{"a": "the ManagedClusterSet gold or its binding is gone"})
	w.configs["base"] = "2"
	out := w.settle(t)
	if got, want := w.reaches(), "a=1 b=2"; got != want || !out.Until.Equal(w.now.Add(time.Second)) {
		t.Errorf("%q, want %q; planned again at %s", got, want, out.Until)
	}
	withdraw(nil)
	w.settle(t)
	if got, want := w.reaches(), "a=2 b=2"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
