package rollouts_test

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	rolloutv1alpha1 "github.com/berth-project/berth/api/rollout/v1alpha1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/internal/cli/rollouts"
	"github.com/berth-project/berth/internal/delivery/plan/plantest"
)

// TestWillHold has sets that a version without a record has rolled out.
func TestWillHold(t *testing.T) {
	const strategy = `{type: Progressive, progressive: {maxConcurrency: 1, mandatoryDecisionGroups: [{groupName: canary}]}}`
	canary, rest := plantest.Group{Name: "canary", Clusters: []string{"c1"}}, plantest.Group{Name: "rest", Clusters: []string{"p1", "p2"}}
	for name, test := range map[string]struct {
		change func(w *plantest.State)
		holds  bool
	}{
		"one that has finished":         {func(*plantest.State) {}, false},
		"one whose canary goes first":   {func(w *plantest.State) { w.Template("2") }, false},
		"one that lost its canary":      {func(w *plantest.State) { w.Template("2"); w.Decide(rest) }, true},
		"one that has a record of that": {func(w *plantest.State) { w.Template("2"); w.Decide(rest); w.Step() }, false},
		"one without mandatory groups": {func(w *plantest.State) {
			w.Template("2")
			w.Decide(rest)
			w.Set.Spec.PlacementRefs[0].RolloutStrategy.Progressive.MandatoryDecisionGroups.MandatoryDecisionGroups = nil
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := plantest.New(t, now, strategy, canary, rest)
			for _, cluster := range []string{"c1", "p1", "p2"} {
				w.Step()
				w.Succeed(cluster)
			}
			w.Step()
			w.Set.Status.Rollout = nil
			test.change(w)
			found, err := rollouts.WillHold(t.Context(), hubWith(t, w), now)
			if err != nil || len(found) > 0 != test.holds {
				t.Fatalf("%+v, %v", found, err)
			}
			const remedy = "kubectl berth rollout approve web -n shop --group canary"
			if test.holds && (found[0].Set != "shop/web" || found[0].Placement != "fleet" || !strings.Contains(found[0].Remedy, remedy)) {
				t.Errorf("%+v", found[0])
			}
		})
	}
}

// hubWith returns a hub with the objects of a state.
func hubWith(t *testing.T, w *plantest.State) client.Reader {
	t.Helper()
	kinds := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		appsv1.AddToScheme, clusterv1.AddToScheme, clusterv1beta1.AddToScheme, rolloutv1alpha1.AddToScheme, workv1.AddToScheme,
		workv1alpha1.AddToScheme,
	} {
		if err := add(kinds); err != nil {
			t.Fatal(err)
		}
	}
	objects := []client.Object{w.Set, w.Placement}
	for _, slice := range w.Slices {
		objects = append(objects, slice)
	}
	for _, work := range w.Works {
		objects = append(objects, work)
	}
	return fake.NewClientBuilder().WithScheme(kinds).WithObjects(objects...).Build()
}
