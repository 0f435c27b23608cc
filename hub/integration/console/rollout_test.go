//go:build slow

package console

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/go-cmp/cmp"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/delivery/plan"
)

// rolloutKit is a set of works over the placement ops/agents, whose first group are the canaries eu-1 and us-1.
type rolloutKit struct {
	*kit.Client
	t   *testing.T
	set *workv1alpha1.ManifestWorkReplicaSet
}

// newRollout stores the set ops/tools. Its second group waits for an approval.
func newRollout(t *testing.T, hub *hubtest.Hub) *rolloutKit {
	t.Helper()
	k := &rolloutKit{Client: kit.New(t, hub), t: t}
	for _, region := range []string{"eu", "us", "ap"} {
		for i := range 4 {
			namespace := kit.Namespace(fmt.Sprintf("%s-%d", region, i+1))
			k.MustCreateMissing(namespace)
		}
	}
	k.set = kit.WorkSet("ops", "tools")
	reference := workv1alpha1.LocalPlacementReference{Name: "agents"}
	const strategy = "{type: ProgressivePerGroup, approval: {required: [{groupIndex: 1}]}}"
	kit.NoError(t, yaml.UnmarshalStrict([]byte(strategy), &reference.RolloutStrategy.RolloutStrategy))
	k.set.Spec.PlacementRefs = []workv1alpha1.LocalPlacementReference{reference}
	k.set.Spec.ManifestWorkTemplate.Workload.Manifests = []workv1.Manifest{{RawExtension: runtime.RawExtension{Raw: []byte(
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"default","name":"tools"},"data":{"version":"1"}}`,
	)}}}
	k.MustCreate(k.set)
	return k
}

// report stores what the agent of a cluster reports about the work: that it is healthy, or why it fails.
func (k *rolloutKit) report(cluster, failure string) {
	k.t.Helper()
	k.Await("the agent has reported its work", func(ctx context.Context) error {
		list := &workv1.ManifestWorkList{}
		of := client.MatchingLabels{workv1.ReplicaSetLabel: plan.SetLabelValue(k.set.Namespace, k.set.Name)}
		if err := k.List(ctx, list, client.InNamespace(cluster), of); err != nil {
			return err
		}
		if len(list.Items) != 1 {
			return fmt.Errorf("%d works in %s, want one", len(list.Items), cluster)
		}
		work := &list.Items[0]
		applied := map[bool]metav1.ConditionStatus{true: metav1.ConditionTrue, false: metav1.ConditionFalse}[failure == ""]
		for kind, status := range map[string]metav1.ConditionStatus{
			workv1.WorkApplied: applied, workv1.WorkAvailable: applied, workv1.WorkProgressing: metav1.ConditionFalse,
			workv1.WorkDegraded: metav1.ConditionFalse,
		} {
			apimeta.SetStatusCondition(&work.Status.Conditions, metav1.Condition{
				Type: kind, Status: status, Reason: "Reported",
				ObservedGeneration: work.Generation,
			})
		}
		condition := metav1.Condition{Type: workv1.WorkApplied, Status: applied, Reason: "Reported", LastTransitionTime: metav1.Now()}
		if failure != "" {
			condition.Message = workv1.PermanentFailurePrefix + failure
		}
		work.Status.ResourceStatus.Manifests = []workv1.ManifestCondition{{
			ResourceMeta: workv1.ManifestResourceMeta{Version: "v1", Kind: "ConfigMap", Resource: "configmaps", Namespace: "default", Name: "tools"},
			Conditions:   []metav1.Condition{condition},
		}}
		return k.Status().Update(ctx, work)
	})
}

// TestRollout follows a rollout while it moves: the canaries, an approval by a click, a member that refuses the manifest, a pause, and the
// timeline back to the start, with the keyboard.
func TestRollout(t *testing.T) {
	hub := newHub(t)
	k := newRollout(t, hub)
	address, _ := serve(t, "--kubeconfig", hub.Kubeconfig())
	b := open(t, address)
	b.visit("/rollouts")
	b.waitText("ops/tools")
	b.do(chromedp.Click(`a[href="/rollouts/ops/tools"]`, chromedp.ByQuery))
	b.waitText("0 (canary)")
	b.do(chromedp.Evaluate("window.unchanged = true", nil))
	k.report("eu-1", "")
	k.report("us-1", "")
	b.wait("the canaries", `document.querySelector("#rollout-waves").innerText.includes("2/2")`)
	b.waitText("Unapproved")
	if !evaluate[bool](b, "window.unchanged === true") {
		t.Error("the page was loaded again")
	}
	b.checkAccessibility(t, "rollout")
	b.picture("rollout-unapproved")

	b.do(chromedp.Click(`a[href*="action=approve"]`, chromedp.ByQuery))
	b.waitText("Approve the group 1 in the rollout of ops/tools?")
	b.do(chromedp.Click(`form button`, chromedp.ByQuery))
	b.waitText("The rollout of ops/tools is approved.")
	b.do(chromedp.Click(`a.primary`, chromedp.ByQuery))
	b.wait("the second wave",
		`[...document.querySelectorAll("#rollout-waves li")].some((wave) => wave.innerText.startsWith("1") && wave.innerText.includes("under way"))`)

	// A member of the second group refuses the manifest. The open page has its error.
	k.report("eu-2", "configmaps \"tools\" is forbidden by <b>quota</b>")
	b.waitText("What fails")
	b.waitText("ConfigMap default/tools")
	b.waitText("forbidden by <b>quota</b>")
	b.picture("rollout-failing")

	b.do(chromedp.Click(`a[href*="action=pause"]`, chromedp.ByQuery))
	b.waitText("Pause the rollout of ops/tools?")
	b.do(chromedp.Click(`form button`, chromedp.ByQuery), chromedp.WaitVisible(".done", chromedp.ByQuery),
		chromedp.Click(`a.primary`, chromedp.ByQuery))
	b.waitText("Paused")
	b.waitText("Resume…")

	b.dragBack(t)
	b.checkAccessibility(t, "rollout with its past")
	b.picture("rollout-past")

	// The cluster shows who put what on it.
	b.visit("/clusters/eu-2")
	b.waitText("Who put what on it")
	b.wait("the set", `document.querySelector('#cluster-works a[href="/rollouts/ops/tools"]')`)
	b.waitText("forbidden by <b>quota</b>")
	b.checkProblems(t)
}

// dragBack goes from the present to the first moment and forward by one, with the keys, and opens the address of that moment again.
func (b *browser) dragBack(t *testing.T) {
	t.Helper()
	b.do(chromedp.Focus("#moment", chromedp.ByQuery))
	if got := evaluate[int](b, "Number(document.querySelector('#moment').max)"); got < 2 {
		t.Fatalf("the timeline has %d moments before the present, want at least the start and the failure", got)
	}
	shown := func() string { return evaluate[string](b, `document.querySelector("#moment-shown").innerText`) }
	b.do(chromedp.KeyEvent(kb.Home))
	b.wait("the first moment", `document.querySelector("#moment-shown").innerText.startsWith("1 of")`)
	if got := shown(); !strings.Contains(got, "Revision 1 is stored") && !strings.Contains(got, "Rollout") {
		t.Errorf("the first moment is %q, want that of the template", got)
	}
	b.wait("the start of the canaries", `(() => {
		const at = document.querySelector("#moment"), text = document.querySelector("#moment-shown").innerText;
		if (!text.startsWith((Number(at.value) + 1) + " of")) return false; // it is being read
		if (text.includes("start:")) return true;
		at.value = String(Number(at.value) + 1);
		at.dispatchEvent(new Event("input"));
		return false;
	})()`)
	before := shown()
	if !strings.Contains(before, "under way") || !strings.Contains(before, "waiting") {
		t.Errorf("at the start, the waves are %q, want the canaries under way and the others waiting", before)
	}
	b.wait("the address", `location.search.includes("at=")`)
	address := kit.Must(url.Parse(evaluate[string](b, "location.href"))).In(t)
	b.visit(address.RequestURI())
	if diff := cmp.Diff(lasting(before), lasting(shown())); diff != "" {
		t.Errorf("the address of the moment shows another (-before +now):\n%s", diff)
	}
	if value, most := evaluate[string](b, "document.querySelector('#moment').value"),
		evaluate[string](b, "document.querySelector('#moment').max"); value == most {
		t.Error("the address of a moment leads to the present")
	}
}

// lasting returns the lines about a moment that stay as they are: not how many moments there are, nor how long ago it was.
func lasting(shown string) []string {
	return slices.DeleteFunc(strings.Split(shown, "\n"), func(line string) bool {
		return strings.Contains(line, " of ") || strings.HasSuffix(line, " ago")
	})
}
