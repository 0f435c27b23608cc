package placement

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/fleet"
)

// TestAPlacementOverItsCostLimitIsNotEvaluatedAgain lets predicates, tiers and groups exceed their cost limit. The condition
// has the cost, and the decisions stay. Nothing is evaluated again until a fact changes that the placement reads. Evaluations
// are detected by their memory allocations, a million in one decision.
func TestAPlacementOverItsCostLimitIsNotEvaluatedAgain(t *testing.T) {
	const clusters, few = 25, 20_000
	costly := clusterv1beta1.ClusterCelSelector{CelExpressions: []string{
		`managedCluster.scores("load").size() == 1 && managedCluster.metadata.annotations.text.split("").map(x, [x]).size() >= 0`,
	}}
	for name, change := range map[string]func(*clusterv1beta1.PlacementSpec){
		"predicates": func(spec *clusterv1beta1.PlacementSpec) {
			spec.Predicates = []clusterv1beta1.ClusterPredicate{{RequiredClusterSelector: clusterv1beta1.ClusterSelector{CelSelector: costly}}}
		},
		"tiers": func(spec *clusterv1beta1.PlacementSpec) {
			spec.Tiers = []clusterv1beta1.ClusterTier{{Name: "first", ClusterSelector: clusterv1beta1.ClusterSelector{CelSelector: costly}}}
		},
		"groups": func(spec *clusterv1beta1.PlacementSpec) {
			spec.DecisionStrategy.GroupStrategy.DecisionGroups = []clusterv1beta1.DecisionGroup{
				{GroupName: "first", ClusterSelector: clusterv1beta1.GroupClusterSelector{CelSelector: costly}},
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newSimpleHub(t, 0)
			put := func(number, text int, taints ...string) {
				cluster := enginetest.Cluster(fmt.Sprintf("c%02d", number)).In("sea")
				for _, taint := range taints {
					cluster.Taint(taint, clusterv1.TaintEffectPreferNoSelect, enginetest.Epoch)
				}
				object := cluster.Obj()
				object.Annotations = map[string]string{"text": strings.Repeat("a", text)}
				h.putCluster(object)
			}
			for number := range clusters {
				put(number, 50_000)
				h.putScore(fmt.Sprintf("c%02d", number), 1) // expressions that read scores are evaluated each time
			}
			p := enginetest.Placement("ns", "p").Obj()
			h.putPlacement(p)
			l := startLoop(t, h)
			l.drain()
			before := h.clusters(keyOf(p))
			decide := func() uint64 {
				for h.deliver(0, l.informed) || h.deliver(1, l.informed) || h.deliver(2, l.informed) {
				}
				var from, to runtime.MemStats
				runtime.ReadMemStats(&from)
				l.reconcileOne(keyOf(p))
				runtime.ReadMemStats(&to)
				return to.Mallocs - from.Mallocs
			}
			misconfigured := func() string { return problemOf(h, keyOf(p)) }

			next := h.stored.Placements[keyOf(p)].DeepCopy()
			change(&next.Spec)
			h.putPlacement(next)
			if first := decide(); first < 10*few {
				t.Fatalf("the decision allocated memory %d times, too few to detect an evaluation", first)
			}
			want := "the expressions of a placement may cost 15000000 units in one decision, and these had cost 16"
			if got := misconfigured(); !strings.Contains(got, want) {
				t.Errorf("misconfigured by %q, want %q", got, want)
			}
			if got := h.clusters(keyOf(p)); len(got) != clusters || !slices.Equal(got, before) {
				t.Errorf("selected %v, want %v as before", got, before)
			}
			put(3, 50_000, "gpu")
			for range 3 {
				if again := decide(); again > few {
					t.Errorf("the next decision allocated memory %d times: the placement was evaluated without a change of its facts", again)
				}
			}
			for number := range clusters {
				put(number, 10)
			}
			l.drain()
			if got := misconfigured(); got != "" {
				t.Errorf("misconfigured by %q, with a low cost", got)
			}
		})
	}
}

// problemOf returns why a placement is misconfigured; "" if it is not.
func problemOf(h *fakeHub, key fleet.Key) string {
	condition := meta.FindStatusCondition(h.stored.Placements[key].Status.Conditions, clusterv1beta1.PlacementConditionMisconfigured)
	if condition == nil || condition.Status != "True" {
		return ""
	}
	return condition.Message
}
