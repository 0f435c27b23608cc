package live

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/fleet"
)

// newScoredHub returns a hub whose clusters have a score "load" with "free", 10 for c1 up to 60 for c6, and placements that read it: cel has all of
// them, ranked has the three best.
func newScoredHub(t testing.TB) *hub {
	t.Helper()
	h := newHub(t)
	cel := enginetest.Placement("ns", "cel").Obj()
	cel.Spec.Predicates = []clusterv1beta1.ClusterPredicate{{RequiredClusterSelector: clusterv1beta1.ClusterSelector{
		CelSelector: clusterv1beta1.ClusterCelSelector{CelExpressions: []string{`managedCluster.scores("load").exists(s, s.name == "free" && s.value > 0)`}},
	}}}
	ranked := enginetest.Placement("ns", "ranked").Obj()
	ranked.Spec.NumberOfClusters = new(int32(3))
	ranked.Spec.PrioritizerPolicy = clusterv1beta1.PrioritizerPolicy{
		Mode: clusterv1beta1.PrioritizerPolicyModeExact,
		Configurations: []clusterv1beta1.PrioritizerConfig{{ScoreCoordinate: &clusterv1beta1.ScoreCoordinate{
			Type: clusterv1beta1.ScoreCoordinateTypeAddOn, AddOn: &clusterv1beta1.AddOnScore{ResourceName: "load", ScoreName: "free"},
		}}},
	}
	for i := range 6 {
		h.score(i+1, h.clock.Now().Add(time.Minute), "free", int32(10*(i+1)))
	}
	h.place(cel)
	h.place(ranked)
	h.decide(t)
	return h
}

// score gives cluster ci a score that is valid until an instant.
func (h *hub) score(i int, until time.Time, name string, value int32) {
	b := enginetest.Score(fmt.Sprint("c", i), "load").ValidUntil(until)
	if name != "" {
		b = b.Value(name, value)
	}
	h.SetScore(b.Obj())
}

// condition returns a condition of a placement; nil without it.
func (h *hub) condition(name, kind string) *metav1.Condition {
	return meta.FindStatusCondition(h.world.Placements[fleet.Key{Namespace: "ns", Name: name}].Status.Conditions, kind)
}

// TestAClaimThatIsRenamedClusterByClusterMovesNothing follows an agent upgrade that reports a claim under another name, and back.
func TestAClaimThatIsRenamedClusterByClusterMovesNothing(t *testing.T) {
	h := newHub(t)
	before := h.decisions()
	rename := func(i int, claim string) {
		c := h.world.Clusters[fmt.Sprint("c", i)].DeepCopy()
		c.Status.ClusterClaims = []clusterv1.ManagedClusterClaim{{Name: claim, Value: "cloud"}}
		h.put(c)
		h.decide(t)
		h.clock.Step(testGrace)
		h.endGraces()
		h.decide(t)
	}
	for i := range 5 {
		rename(i+1, "platfrom")
	}
	if diff := cmp.Diff(before, h.decisions()); diff != "" {
		t.Fatalf("decisions (-before +after):\n%s", diff)
	}
	held := h.condition("claim", clusterv1beta1.PlacementConditionExpressionHeld)
	if held == nil || held.Status != metav1.ConditionTrue {
		t.Fatalf("the condition is %v, want ExpressionHeld True", held)
	}
	h.put(enginetest.Cluster("c7").In("sea").Obj())
	h.decide(t)
	if slices.Contains(h.decisions()["claim"], "c7") {
		t.Error("a newcomer without the claim is selected")
	}
	for i := range 5 {
		rename(i+1, "platform")
	}
	if held := h.condition("claim", clusterv1beta1.PlacementConditionExpressionHeld); held != nil {
		t.Errorf("the condition is %v after the claims are back, want none", held)
	}
	if got := h.decisions()["claim"]; !slices.Equal(got, before["claim"]) {
		t.Errorf("the decision is %v, want %v", got, before["claim"])
	}
}

// TestAClusterLeavesAfterTheHold lets one claim disappear for good, with and without a restart.
func TestAClusterLeavesAfterTheHold(t *testing.T) {
	for name, test := range map[string]struct {
		do    func(h *hub)
		stays bool
	}{
		"before the end":     {func(h *hub) { h.clock.Step(testHold - testGrace - time.Minute) }, true},
		"after the end":      {func(h *hub) { h.clock.Step(testHold) }, false},
		"after a restart":    {func(h *hub) { h.restart(); h.decide(t); h.clock.Step(testHold - time.Minute) }, true},
		"long after a start": {func(h *hub) { h.restart(); h.decide(t); h.clock.Step(testHold + time.Second) }, false},
		"once it is released": {func(h *hub) {
			p := h.world.Placements[fleet.Key{Namespace: "ns", Name: "claim"}].DeepCopy()
			p.Annotations = map[string]string{clusterv1beta1.ExpressionsReleasedAnnotation: h.clock.Now().Add(time.Second).Format(time.RFC3339)}
			h.place(p)
		}, false},
		"released before it began": {func(h *hub) {
			p := h.world.Placements[fleet.Key{Namespace: "ns", Name: "claim"}].DeepCopy()
			p.Annotations = map[string]string{clusterv1beta1.ExpressionsReleasedAnnotation: h.clock.Now().Add(-time.Hour).Format(time.RFC3339)}
			h.place(p)
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t)
			c := h.world.Clusters["c1"].DeepCopy()
			c.Status.ClusterClaims = nil
			h.put(c)
			h.decide(t)
			h.clock.Step(testGrace)
			h.endGraces()
			h.decide(t)
			test.do(h)
			h.endGraces()
			h.decide(t)
			if got := slices.Contains(h.decisions()["claim"], "c1"); got != test.stays {
				t.Errorf("c1 is selected: %t, want %t; condition %v", got, test.stays, h.condition("claim", clusterv1beta1.PlacementConditionExpressionHeld))
			}
		})
	}
}

// TestAProviderThatStopsMovesNothing lets the scores of one cluster after the other disappear, in each of the ways in which they do.
func TestAProviderThatStopsMovesNothing(t *testing.T) {
	for name, stop := range map[string]func(h *hub, i int){
		"it is out of date":  func(h *hub, i int) { h.score(i, h.clock.Now().Add(-time.Second), "free", int32(10*i)) },
		"it is deleted":      func(h *hub, i int) { h.DeleteScore(&clusterv1alpha1.AddOnPlacementScore{ObjectMeta: named(i)}) },
		"the list is empty":  func(h *hub, i int) { h.score(i, h.clock.Now().Add(time.Hour), "", 0) },
		"it has other names": func(h *hub, i int) { h.score(i, h.clock.Now().Add(time.Hour), "freed", 1) },
	} {
		t.Run(name, func(t *testing.T) {
			h := newScoredHub(t)
			before := h.decisions()
			for i := 6; i > 0; i-- {
				stop(h, i)
				h.decide(t)
				h.clock.Step(time.Second)
				h.decide(t)
			}
			if diff := cmp.Diff(before, h.decisions()); diff != "" {
				t.Fatalf("decisions (-before +after):\n%s", diff)
			}
			h.clock.Step(testHold)
			h.decide(t)
			if got := h.decisions()["ranked"]; !slices.Equal(got, []string{"c1", "c2", "c3"}) {
				t.Errorf("the decision by scores is %v after the hold, want those by name", got)
			}
			for i := range 6 {
				h.score(i+1, h.clock.Now().Add(time.Minute), "free", int32(10*(i+1)))
			}
			h.decide(t)
			if diff := cmp.Diff(before, h.decisions()); diff != "" {
				t.Errorf("decisions after the provider is back (-before +after):\n%s", diff)
			}
		})
	}
}

func named(i int) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: fmt.Sprint("c", i), Name: "load"}
}
