package rollouts

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"

	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/decision"
	"github.com/berth-project/berth/internal/delivery/plan"
	"github.com/berth-project/berth/internal/delivery/plan/plantest"
)

var instant = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)

const oneByOne = "{type: Progressive, progressive: {maxConcurrency: 1}}"

// deliveryOf returns the set of a state as a hub has it.
func deliveryOf(w *plantest.State) Delivery {
	out := Delivery{Set: w.Set, Placements: map[string]plan.Placement{"fleet": {Object: w.Placement, Decisions: decision.Of(w.Slices...)}}}
	for _, work := range w.Works {
		out.addWork(work)
	}
	return out
}

// templateWith returns a template with one object.
func templateWith(text string) *workv1.ManifestWorkSpec {
	out := &workv1.ManifestWorkSpec{Workload: workv1.ManifestsTemplate{Manifests: []workv1.Manifest{{}}}}
	out.Workload.Manifests[0].Raw = []byte(text)
	return out
}

func TestABreachedRolloutIsReportedAsTheManagerReportsIt(t *testing.T) {
	w := plantest.New(t, instant, oneByOne, plantest.Group{Clusters: []string{"a", "b"}})
	w.Set.Spec.PlacementRefs[0].RolloutStrategy.FailureStrategy = workv1alpha1.AbortAll
	for range 3 {
		w.Succeed(w.Step()...)
	}
	first := w.Set.Spec.ManifestWorkTemplate.DeepCopy()
	w.Template("2")
	w.Step()
	w.Degrade("a", "the image does not exist")
	for sentence, test := range map[string]struct {
		former *workv1.ManifestWorkSpec
		want   string
	}{
		"the former template is kept":     {first, "The rollout is aborted"},
		"the former template is not kept": {nil, "the rollout is not aborted: the template of the last finished rollout is not kept"},
		"a return could lose stored fields": {
			templateWith(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"d"}}`),
			"the rollout is not aborted: the templates differ in CustomResourceDefinition d",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			read := deliveryOf(w)
			read.Former = test.former
			got, err := NewReport(read, instant)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(got.Message, test.want) {
				t.Errorf("message %q does not contain %q", got.Message, test.want)
			}
		})
	}
}

func TestFormerIn(t *testing.T) {
	set, history := versions(t, "a", "a", "b")
	set.Status.CurrentRevision = history[1].Hash
	first, ok := history[0].stored.(*appsv1.ControllerRevision)
	second, is := history[1].stored.(*appsv1.ControllerRevision)
	if !ok || !is {
		t.Fatalf("%T, %T", history[0].stored, history[1].stored)
	}
	kept := func(change func(*appsv1.ControllerRevision)) []plan.Revision {
		changed := second.DeepCopy()
		change(changed)
		return []plan.Revision{first, changed}
	}
	for sentence, test := range map[string]struct {
		kept  []plan.Revision
		found bool
	}{
		"it is kept":                    {kept(func(*appsv1.ControllerRevision) {}), true},
		"it is not kept":                {kept(func(*appsv1.ControllerRevision) {})[:1], false},
		"it is of another set":          {kept(func(r *appsv1.ControllerRevision) { r.OwnerReferences[0].UID = types.UID("other") }), false},
		"another client has written it": {kept(func(r *appsv1.ControllerRevision) { r.Data = first.Data }), false},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := formerIn(set, test.kept)
			if (got != nil) != test.found {
				t.Fatalf("found %v, want %v", got, test.found)
			}
			if got != nil && !strings.Contains(string(got.Workload.Manifests[0].Raw), `"name":"a"`) {
				t.Errorf("the template is %s", got.Workload.Manifests[0].Raw)
			}
		})
	}
}
