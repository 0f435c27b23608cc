package enginetest_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	"pgregory.net/rapid"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
)

// spreadHistory is the history of a placement with a hard spread constraint over regions, while regions appear, vanish and
// return cluster by cluster.
type spreadHistory struct {
	harness
	*rapid.T

	state *enginetest.State
	key   fleet.Key
}

// upTo draws a number below n.
func (h *spreadHistory) upTo(n int, what string) int { return rapid.IntRange(0, n-1).Draw(h.T, what) }

// chance draws true in some percent of the cases.
func (h *spreadHistory) chance(percent int, what string) bool { return h.upTo(100, what) < percent }

func newSpreadHistory(rig harness, t *rapid.T) *spreadHistory {
	h := &spreadHistory{harness: rig, T: t, key: fleet.Key{Namespace: "ns", Name: "p"}}
	p := enginetest.Placement("ns", "p").Even(label, "region", int32(1+h.upTo(3, "maxSkew")), true)
	if h.chance(80, "limited") {
		p.Number(int32(h.upTo(14, "numberOfClusters")))
	}
	if h.chance(40, "zones") {
		p.Even(label, "zone", int32(1+h.upTo(2, "maxSkew of zones")), h.chance(50, "hard zones"))
	}
	if h.chance(30, "hosts") {
		p.Apart(label, "host")
	} else if h.chance(30, "with a budget") {
		p.Budget(strconv.Itoa(h.upTo(3, "maxUnavailable")), 10*time.Minute)
	}
	if h.chance(30, "by CPU") {
		p.Mode(clusterv1beta1.PrioritizerPolicyModeExact).BuiltIn(clusterv1beta1.PrioritizerResourceAllocatableCPU, 1)
	}
	if h.chance(30, "tiers") {
		p.Tier("first", clusterv1beta1.ClusterSelector{LabelSelector: enginetest.LabelIs("tier", "1")}).TierOf("others").
			Failback(int32(60 * h.upTo(3, "minutes of failback")))
	}
	h.state = enginetest.NewState(p.Obj(), enginetest.Set("all").Obj()).Bind("ns", "all")
	regions := 1 + h.upTo(3, "regions")
	for i := range 3 + h.upTo(20, "clusters") {
		h.state.Add(h.cluster(fmt.Sprintf("c%02d", i), h.upTo(regions, "region")))
	}
	return h
}

// cluster draws a cluster of a region.
func (h *spreadHistory) cluster(name string, region int) *clusterv1.ManagedCluster {
	return enginetest.Cluster(name).In("all").Label("region", strconv.Itoa(region)).Label("zone", strconv.Itoa(h.upTo(2, "zone"))).
		Label("tier", strconv.Itoa(h.upTo(3, "tier"))).Label("host",
		strconv.Itoa(h.upTo(20, "host"))).CPU(strconv.Itoa(1 + h.upTo(9, "cpu"))).Obj()
}

// step changes one cluster, or lets time pass.
func (h *spreadHistory) step() {
	names := slices.Sorted(maps.Keys(h.state.Clusters))
	name := fmt.Sprintf("c%02d", h.upTo(len(names)+2, "cluster"))
	found := h.state.Clusters[name]
	switch {
	case h.chance(20, "time passes"):
		h.state.Now = h.state.Now.Add(time.Duration(1+h.upTo(10, "minutes")) * time.Minute)
	case found == nil || h.chance(15, "new labels"):
		h.state.Add(h.cluster(name, h.upTo(4, "region")))
	case h.chance(10, "delete"):
		delete(h.state.Clusters, name)
	case h.chance(10, "no region"):
		found = found.DeepCopy()
		delete(found.Labels, "region")
		h.state.Add(found)
	default: // an outage of the cluster, or its end
		found = found.DeepCopy()
		if len(found.Spec.Taints) > 0 {
			found.Spec.Taints = nil
		} else {
			found.Spec.Taints = []clusterv1.Taint{{Key: "down", Effect: clusterv1.TaintEffectNoSelect}}
		}
		h.state.Add(found)
	}
}

// eligible reports whether a cluster passes the filters and has every label that a hard constraint requires.
func (h *spreadHistory) eligible(name string) bool {
	c := h.state.Clusters[name]
	return c != nil && len(c.Spec.Taints) == 0 && c.Labels["region"] != ""
}

// decide decides, compares with the oracle, applies the plan, and decides again.
func (h *spreadHistory) decide() *engine.Result {
	h.Helper()
	s := h.state.Snapshot()
	result := enginetest.DecidePlacement(s, h.state.Placements[h.key], h.env)
	if !*propertiesAlone {
		h.same(h.oracle.Decide(h.state, h.key), enginetest.OutcomeAfter(h.state, result))
	}
	for _, write := range plan.Diff(result, h.state.Stored(h.key), h.state.Now).Writes {
		h.state.Apply(write)
	}
	again := enginetest.DecidePlacement(h.state.Snapshot(), h.state.Placements[h.key], h.env)
	for _, write := range plan.Diff(again, h.state.Stored(h.key), h.state.Now).Writes {
		h.Errorf("decided again, still to %s", write.Verb)
	}
	return result
}

// check compares the clusters selected before and after a decision.
func (h *spreadHistory) check(before, after map[string]bool) {
	h.Helper()
	spec := h.state.Placements[h.key].Spec
	stay := h.compatible(before)
	if spec.NumberOfClusters != nil {
		stay = min(stay, int(*spec.NumberOfClusters))
	}
	if len(after) < stay {
		h.Errorf("%d clusters are selected, want at least the %d that were and are eligible", len(after), stay)
	}
	for i, constraint := range spec.SpreadPolicy.SpreadConstraints {
		if isHard(constraint) {
			h.checkConstraint(i, before, after)
		}
	}
}

// compatible counts the eligible of some clusters; with anti-affinity one of each host.
func (h *spreadHistory) compatible(clusters map[string]bool) int {
	hosts := map[string]bool{}
	for name := range clusters {
		if !h.eligible(name) {
			continue
		}
		host := name
		if len(h.state.Placements[h.key].Spec.SpreadPolicy.AntiAffinity) > 0 {
			host = h.state.Clusters[name].Labels["host"]
		}
		hosts[host] = true
	}
	return len(hosts)
}

// checkConstraint checks that a domain which exceeds a constraint has no more clusters than before. With anti-affinity it may: a
// newcomer that takes the place of clusters in two domains may be outranked when the choice is repeated.
func (h *spreadHistory) checkConstraint(i int, before, after map[string]bool) {
	h.Helper()
	was, is := h.count(before, i), h.count(after, i)
	least := map[string]int{}
	for name := range h.state.Clusters {
		if !h.eligible(name) {
			continue
		}
		parent := h.domain(name, i-1)
		if n, known := least[parent]; !known || is[h.domain(name, i)] < n {
			least[parent] = is[h.domain(name, i)]
		}
	}
	exceeded := false
	for name := range h.state.Clusters {
		domain, maxSkew := h.domain(name, i), int(h.state.Placements[h.key].Spec.SpreadPolicy.SpreadConstraints[i].MaxSkew)
		if !h.eligible(name) || is[domain]-least[h.domain(name, i-1)] <= maxSkew {
			continue
		}
		exceeded = true
		if apart := len(h.state.Placements[h.key].Spec.SpreadPolicy.AntiAffinity) > 0; is[domain] > was[domain] && !apart {
			h.Errorf("domain %s has %d clusters, want at most the %d before: the fewest beside it are %d, maxSkew %d",
				domain, is[domain], was[domain], least[h.domain(name, i-1)], maxSkew)
		}
	}
	stored := meta.IsStatusConditionTrue(h.state.Placements[h.key].Status.Conditions, clusterv1beta1.PlacementConditionSpreadExceeded)
	if exceeded && !stored {
		h.Error("SpreadExceeded is not True")
	}
}

// domain returns the domain of a cluster for the constraints up to the i-th.
func (h *spreadHistory) domain(name string, i int) string {
	out := ""
	for _, constraint := range h.state.Placements[h.key].Spec.SpreadPolicy.SpreadConstraints[:i+1] {
		out += "/" + h.state.Clusters[name].Labels[constraint.TopologyKey]
	}
	return out
}

// count counts clusters that exist in their domains of the i-th constraint.
func (h *spreadHistory) count(clusters map[string]bool, i int) map[string]int {
	out := map[string]int{}
	for name := range clusters {
		if h.state.Clusters[name] != nil {
			out[h.domain(name, i)]++
		}
	}
	return out
}

// same compares the outcomes of the oracle and the engine.
func (h *spreadHistory) same(want, got enginetest.Outcome) {
	h.Helper()
	if want.JSON() != got.JSON() {
		h.Errorf("outcome (-oracle +engine):\n%s", cmp.Diff(want, got))
	}
}

func TestAHardSpreadNeverShrinksAPlacementAndNeverLetsAFullDomainGrow(t *testing.T) {
	t.Parallel()
	const steps = 30
	rig := newHarness(t)
	rapid.Check(t, func(t *rapid.T) {
		h := newSpreadHistory(rig, t)
		for range steps {
			before := union(h.state, h.key)
			result := h.decide()
			h.check(before, set(result.Clusters()))
			h.step()
		}
	})
}
