package live

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/fleet"
)

// newScoredHub returns a hub whose clusters have a score "load" with "free", 10 for c1 up to 60 for c6, and placements that read it: cel
// has all of them, ranked has the three best.
func newScoredHub(t testing.TB) *hub {
	t.Helper()
	h := newHub(t)
	cel := enginetest.Placement("ns", "cel").Obj()
	cel.Spec.Predicates = []clusterv1beta1.ClusterPredicate{{RequiredClusterSelector: clusterv1beta1.ClusterSelector{
		CelSelector: clusterv1beta1.ClusterCelSelector{CelExpressions: []string{
			`managedCluster.scores("load").exists(s, s.name == "free" && s.value > 0)`,
		}},
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
	score := b.Obj()
	h.state.Add(score)
	h.SetScore(score)
}

// condition returns a condition of a placement; nil without it.
func (h *hub) condition(name, kind string) *metav1.Condition {
	return meta.FindStatusCondition(h.state.Placements[fleet.Key{Namespace: "ns", Name: name}].Status.Conditions, kind)
}

// releaseExpressions lets the clusters of the placement "claim" leave on which an expression has failed since an instant or earlier.
func (h *hub) releaseExpressions(at time.Time) {
	p := h.state.Placements[fleet.Key{Namespace: "ns", Name: "claim"}].DeepCopy()
	p.Annotations = map[string]string{clusterv1beta1.ExpressionsReleasedAnnotation: at.Format(time.RFC3339)}
	p.Generation--
	h.place(p)
}

// TestAClaimThatIsRenamedClusterByClusterMovesNothing follows an agent upgrade that reports a claim under another name, and back.
func TestAClaimThatIsRenamedClusterByClusterMovesNothing(t *testing.T) {
	h := newHub(t)
	before := h.decisions()
	rename := func(i int, claim string) {
		c := h.state.Clusters[fmt.Sprint("c", i)].DeepCopy()
		c.Status.ClusterClaims = []clusterv1.ManagedClusterClaim{{Name: claim, Value: "cloud"}}
		h.put(c)
		h.decide(t)
		h.clock.Step(testGrace)
		h.endGraces()
		h.decide(t)
	}
	for i := range 5 {
		rename(i+1, "platformm")
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
			h.releaseExpressions(h.clock.Now().Add(time.Second))
		}, false},
		"released for all times": {func(h *hub) {
			h.releaseExpressions(h.clock.Now().Add(time.Hour))
		}, true},
		"released before it began": {func(h *hub) {
			h.releaseExpressions(h.clock.Now().Add(-time.Hour))
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t)
			c := h.state.Clusters["c1"].DeepCopy()
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
				t.Errorf("c1 is selected: %t, want %t; condition %v", got, test.stays,
					h.condition("claim", clusterv1beta1.PlacementConditionExpressionHeld))
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

// TestAnEditThatNamesNothingIsHeld edits placements as people misspell them, and undoes it.
func TestAnEditThatNamesNothingIsHeld(t *testing.T) {
	label := func(key string) []clusterv1beta1.ClusterPredicate {
		return []clusterv1beta1.ClusterPredicate{{RequiredClusterSelector: clusterv1beta1.ClusterSelector{
			LabelSelector: enginetest.LabelIs(key, "live"),
		}}}
	}
	for name, test := range map[string]struct {
		edit    func(spec *clusterv1beta1.PlacementSpec)
		message string
	}{
		"a label": {func(s *clusterv1beta1.PlacementSpec) { s.Predicates = label("evn") }, `no cluster in reach has the label "evn"`},
		"a claim": {func(s *clusterv1beta1.PlacementSpec) {
			s.Predicates = []clusterv1beta1.ClusterPredicate{{RequiredClusterSelector: clusterv1beta1.ClusterSelector{
				ClaimSelector: clusterv1beta1.ClusterClaimSelector{MatchClaims: map[string]string{"platformm": "cloud"}},
			}}}
		}, `no cluster in reach has the claim "platformm" (6 have "platform")`},
		"a name": {func(s *clusterv1beta1.PlacementSpec) {
			s.Predicates = []clusterv1beta1.ClusterPredicate{{RequiredClusterSelector: clusterv1beta1.ClusterSelector{ClusterNames: []string{"d1"}}}}
		}, `no cluster in reach has one of the 1 names, such as "d1"`},
		"a tier": {func(s *clusterv1beta1.PlacementSpec) {
			s.Tiers = []clusterv1beta1.ClusterTier{{Name: "only", ClusterSelector: label("tier")[0].RequiredClusterSelector}}
		}, `no cluster in reach has the label "tier"`},
		"a topology key": {func(s *clusterv1beta1.PlacementSpec) {
			s.SpreadPolicy.SpreadConstraints = []clusterv1beta1.SpreadConstraintsTerm{{
				TopologyKey: "zone", TopologyKeyType: clusterv1beta1.TopologyKeyTypeLabel, WhenUnsatisfiable: clusterv1beta1.DoNotSchedule,
			}}
		}, `no cluster in reach has the label "zone"`},
		"a score": {func(s *clusterv1beta1.PlacementSpec) {
			s.PrioritizerPolicy = clusterv1beta1.PrioritizerPolicy{
				Mode: clusterv1beta1.PrioritizerPolicyModeExact,
				Configurations: []clusterv1beta1.PrioritizerConfig{{ScoreCoordinate: &clusterv1beta1.ScoreCoordinate{
					Type: clusterv1beta1.ScoreCoordinateTypeAddOn, AddOn: &clusterv1beta1.AddOnScore{ResourceName: "load", ScoreName: "fere"},
				}}},
			}
		}, `no cluster in reach has the score "fere" in an AddOnPlacementScore "load" (6 have "load/free")`},
		"one of two sets": {
			func(s *clusterv1beta1.PlacementSpec) { s.ClusterSets = []string{"sea", "sly"} },
			`no ManagedClusterSet "sly" is bound to the namespace`,
		},
		"a set": {
			func(s *clusterv1beta1.PlacementSpec) { s.ClusterSets = []string{"sae"} },
			`no ManagedClusterSet "sae" is bound to the namespace`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newScoredHub(t)
			before := h.decisions()["ranked"]
			key := fleet.Key{Namespace: "ns", Name: "ranked"}
			original := h.state.Placements[key].Spec
			edit := func(change func(spec *clusterv1beta1.PlacementSpec)) {
				p := h.state.Placements[key].DeepCopy()
				change(&p.Spec)
				h.place(p)
				h.decide(t)
			}
			edit(test.edit)
			h.restart()
			h.decide(t)
			if got := h.decisions()["ranked"]; !slices.Equal(got, before) {
				t.Fatalf("the decision is %v, want %v", got, before)
			}
			found := h.condition("ranked", clusterv1beta1.PlacementConditionMisconfigured)
			if found.Status != metav1.ConditionTrue || found.Reason != clusterv1beta1.ReasonReferenceHeld ||
				!strings.Contains(found.Message, test.message) {
				t.Errorf("the condition is %s %s: %s; want it held with %q", found.Status, found.Reason, found.Message, test.message)
			}
			edit(func(spec *clusterv1beta1.PlacementSpec) { *spec = *original.DeepCopy() })
			if found := h.condition("ranked", clusterv1beta1.PlacementConditionMisconfigured); found.Status != metav1.ConditionFalse {
				t.Errorf("after the undo the condition is %s: %s", found.Status, found.Message)
			}
			if got := h.decisions()["ranked"]; !slices.Equal(got, before) {
				t.Errorf("after the undo the decision is %v, want %v", got, before)
			}
		})
	}
}

// TestWhatEndsTheHoldOfAReference holds an edit that selects by a label which no cluster has.
func TestWhatEndsTheHoldOfAReference(t *testing.T) {
	key := fleet.Key{Namespace: "ns", Name: "label"}
	all := []string{"c1", "c2", "c3", "c4", "c5", "c6"}
	for name, test := range map[string]struct {
		do     func(h *hub)
		want   []string
		reason string
	}{
		"nothing": {func(*hub) {}, all, clusterv1beta1.ReasonReferenceHeld},
		"a cluster gets the label": {func(h *hub) {
			h.put(enginetest.Cluster("c2").In("sky").Label("evn", "live").Obj())
		}, []string{"c2"}, clusterv1beta1.ReasonSucceedConfigured},
		"a new cluster has it": {func(h *hub) {
			h.put(enginetest.Cluster("c9").In("sky").Label("evn", "live").Obj())
		}, []string{"c9"}, clusterv1beta1.ReasonSucceedConfigured},
		"a cluster out of reach has it": {func(h *hub) {
			h.put(enginetest.Cluster("c9").Label("evn", "live").Obj())
		}, all, clusterv1beta1.ReasonReferenceHeld},
		"it is released, and leaves none": {func(h *hub) {
			p := h.state.Placements[key].DeepCopy()
			p.Annotations = map[string]string{clusterv1beta1.ConfirmedReferencesAnnotation: fmt.Sprint(p.Generation)}
			p.Generation-- // place counts an edit
			h.place(p)
		}, all, clusterv1beta1.ReasonUnknownReference},
		"it is released, and may leave none": {func(h *hub) {
			p := h.state.Placements[key].DeepCopy()
			p.Annotations = map[string]string{clusterv1beta1.ConfirmEmptyAnnotation: "true"}
			p.Generation--
			h.place(p)
		}, nil, clusterv1beta1.ReasonUnknownReference},
		"a denied cluster leaves": {func(h *hub) {
			delete(h.state.Clusters, "c1")
			h.DeleteCluster(enginetest.Cluster("c1").Obj())
		}, all[1:], clusterv1beta1.ReasonReferenceHeld},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t)
			p := h.state.Placements[key].DeepCopy()
			p.Spec.Predicates[0].RequiredClusterSelector.LabelSelector = enginetest.LabelIs("evn", "live")
			h.place(p)
			h.decide(t)
			test.do(h)
			h.decide(t)
			if got := h.decisions()["label"]; !slices.Equal(got, test.want) {
				t.Errorf("the decision is %v, want %v", got, test.want)
			}
			if found := h.condition("label", clusterv1beta1.PlacementConditionMisconfigured); found.Reason != test.reason {
				t.Errorf("the condition is %s %s: %s; want %s", found.Status, found.Reason, found.Message, test.reason)
			}
		})
	}
}

// TestANewPlacementThatNamesNothingIsDecided reports what it names, until a cluster has it. What goes later is no mistake of the spec.
func TestANewPlacementThatNamesNothingIsDecided(t *testing.T) {
	h := newHub(t)
	p := enginetest.Placement("ns", "new").Obj()
	p.Spec.Predicates = []clusterv1beta1.ClusterPredicate{{RequiredClusterSelector: clusterv1beta1.ClusterSelector{
		LabelSelector: enginetest.LabelIs("gpu", "yes"),
	}}}
	h.place(p)
	reason := func() string {
		h.decide(t)
		return h.condition("new", clusterv1beta1.PlacementConditionMisconfigured).Reason
	}
	if got := reason(); got != clusterv1beta1.ReasonUnknownReference {
		t.Errorf("the reason is %s, want %s", got, clusterv1beta1.ReasonUnknownReference)
	}
	h.put(enginetest.Cluster("c7").In("sea").Label("gpu", "yes").Obj())
	if got := reason(); got != clusterv1beta1.ReasonSucceedConfigured {
		t.Errorf("the reason is %s once a cluster has the label", got)
	}
	h.put(enginetest.Cluster("c7").In("sea").Obj())
	h.clock.Step(testGrace)
	h.endGraces()
	if got := reason(); got != clusterv1beta1.ReasonSucceedConfigured {
		t.Errorf("the reason is %s once the label is gone again", got)
	}
}

// TestAChangeDuringADecisionThatKeepsClusters changes a cluster between the snapshot of a decision and its end. A heartbeat is no change: a
// placement whose edit is held is not decided again and again.
func TestAChangeDuringADecisionThatKeepsClusters(t *testing.T) {
	key := fleet.Key{Namespace: "ns", Name: "label"}
	cluster := func() *enginetest.ClusterBuilder {
		return enginetest.Cluster("c2").In("sky").Label("env", "live").Claim("platform", "cloud")
	}
	for name, test := range map[string]struct {
		change func(h *hub)
		again  bool
	}{
		"nothing":     {func(*hub) {}, false},
		"a heartbeat": {func(h *hub) { h.put(cluster().CPU("7").Obj()) }, false},
		"a taint":     {func(h *hub) { h.put(cluster().Taint("k", "NoSelect", enginetest.Epoch).Obj()) }, true},
		"a deletion":  {func(h *hub) { h.DeleteCluster(cluster().Obj()) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t)
			p := h.state.Placements[key].DeepCopy()
			p.Spec.Predicates[0].RequiredClusterSelector.LabelSelector = enginetest.LabelIs("evn", "live")
			h.place(p)
			input, ok := h.Gather(key, h.clock.Now())
			if !ok {
				t.Fatal("the placement is not decided")
			}
			result := engine.Decide(input.Snapshot, key, input.Program, input.Faults, input.Ledger())
			test.change(h)
			clear(h.queued)
			h.Decided(key, result, nil, h.clock.Now())
			if h.queued[key] != test.again {
				t.Errorf("it is decided again: %t", h.queued[key])
			}
		})
	}
}

// TestTheGraceAfterAStartConcernsRanksToo takes away what a selected cluster is ranked by, while no manager runs. Others take its place
// once the grace is over.
func TestTheGraceAfterAStartConcernsRanksToo(t *testing.T) {
	for name, test := range map[string]struct {
		placement *clusterv1beta1.Placement
		lose      func(h *hub, selected string)
		want      []string
	}{
		"a score": {
			nil, func(h *hub, _ string) { delete(h.state.Scores, enginetest.ScoreKey{Cluster: "c6", Resource: "load"}) },
			[]string{"c3", "c4", "c5"},
		},
		"the label of a topology": {
			enginetest.Placement("ns", "ranked").Even(clusterv1beta1.TopologyKeyTypeLabel, "region", 1, true).Number(3).Obj(),
			func(h *hub, selected string) {
				c := h.state.Clusters[selected].DeepCopy()
				delete(c.Labels, "region")
				h.state.Add(c)
			}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newScoredHub(t)
			for i := range 6 {
				c := h.state.Clusters[fmt.Sprint("c", i+1)].DeepCopy()
				c.Labels["region"] = fmt.Sprint("r", i%3)
				h.put(c)
			}
			if test.placement != nil {
				h.unplace(fleet.Key{Namespace: "ns", Name: "ranked"})
				h.clock.Step(testGrace)
				h.place(test.placement)
			}
			h.decide(t)
			before := h.decisions()["ranked"]
			test.lose(h, before[0])
			h.restart()
			h.decide(t)
			if diff := cmp.Diff(before, h.decisions()["ranked"]); diff != "" {
				t.Errorf("within the grace (-before +after):\n%s", diff)
			}
			h.clock.Step(testGrace)
			h.endGraces()
			h.decide(t)
			if got := h.decisions()["ranked"]; test.want != nil && !slices.Equal(got, test.want) || len(got) != 3 || slices.Equal(got, before) {
				t.Errorf("after the grace: %v, want %v or any three without the cluster", got, test.want)
			}
		})
	}
}

// TestAnExpressionThatFailsEverywhereIsReleased lets a claim disappear from every cluster: nothing leaves, however long that lasts, until a
// user lets it.
func TestAnExpressionThatFailsEverywhereIsReleased(t *testing.T) {
	h := newHub(t)
	before := h.decisions()["claim"]
	for _, of := range h.state.Clusters {
		c := of.DeepCopy()
		c.Status.ClusterClaims = nil
		h.put(c)
	}
	h.decide(t)
	h.clock.Step(testGrace)
	h.endGraces()
	h.decide(t)
	h.clock.Step(2 * testHold)
	h.decide(t)
	held := h.condition("claim", clusterv1beta1.PlacementConditionExpressionHeld)
	const want = "since an expression fails on every one: c1 (no claim"
	if held == nil || !strings.Contains(held.Message, want) || !slices.Equal(h.decisions()["claim"], before) {
		t.Fatalf("the condition is %v, want %q; the decision is %v, want %v", held, want, h.decisions()["claim"], before)
	}
	h.releaseExpressions(h.clock.Now().Add(time.Second))
	h.decide(t)
	held = h.condition("claim", clusterv1beta1.PlacementConditionExpressionHeld)
	if got := h.decisions()["claim"]; held != nil || len(got) > 0 {
		t.Errorf("after the release the condition is %v and the decision is %v, want none", held, got)
	}
}
