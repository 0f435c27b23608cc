package enginetest

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
)

// FullState draws a state in which most clusters are reachable, and placements use tiers, fail-back, budgets, spread,
// anti-affinity and scores, and have a stored status, valid or not.
func (r Random) FullState(placements int) *State {
	w := r.State(0).At(r.instant())
	for range 5 {
		w.Add(r.cluster(clusterName(len(w.Clusters))))
	}
	for name := range w.Sets {
		if r.Chance(70) {
			w.Add(Set(name).Matching(metav1.LabelSelector{}).Obj())
		}
	}
	for _, namespace := range namespaces {
		if r.Chance(85) {
			w.Add(Set("s1").Matching(metav1.LabelSelector{}).Obj()).Bind(namespace, "s1")
		}
	}
	for i := range len(w.Clusters) {
		w.Add(r.withTopology(w.Clusters[clusterName(i)]))
		if r.Chance(40) {
			w.Add(r.score(clusterName(i)))
		}
	}
	for i := range placements {
		w.Add(r.fullPlacement(namespaces[r.IntN(len(namespaces))], fmt.Sprintf("p%d", i)))
	}
	for _, key := range w.Keys() {
		for _, slice := range r.slices(w, key) {
			w.Add(r.withDetails(slice))
		}
		w.Add(r.WithStatus(w, key))
	}
	return w
}

// instant is an instant that need not be a whole second.
func (r Random) instant() time.Time {
	if r.Chance(70) {
		return r.wholeSecond()
	}
	return r.wholeSecond().Add(time.Duration(1+r.IntN(999)) * time.Millisecond)
}

// withTopology gives a cluster domains in most topologies, and removes most taints.
func (r Random) withTopology(c *clusterv1.ManagedCluster) *clusterv1.ManagedCluster {
	b := &ClusterBuilder{object: *c.DeepCopy()}
	for _, key := range []string{"region", "zone", "rack"} {
		if r.Chance(88) {
			b.Label(key, r.domain(key))
		}
	}
	if r.Chance(88) {
		b.Claim("vendor", r.domain("vendor"))
	}
	if r.Chance(75) {
		b.object.Spec.Taints = nil
	}
	return b.Obj()
}

// domain draws one of the few values of a topology.
func (r Random) domain(topology string) string {
	switch topology {
	case "region":
		return one(r, "eu", "us", "ap")
	case "zone":
		return one(r, "", "a", "b", "c")
	case "rack":
		return fmt.Sprint(r.IntN(8))
	default:
		return one(r, "acme", "https://example.org/a b")
	}
}

func (r Random) topology() (kind clusterv1beta1.TopologyKeyType, key string) {
	if r.Chance(25) {
		return clusterv1beta1.TopologyKeyTypeClaim, "vendor"
	}
	return clusterv1beta1.TopologyKeyTypeLabel, one(r, "region", "zone", "zone", "rack")
}

// fullPlacement draws a placement with many fields; one in fifty is invalid.
func (r Random) fullPlacement(namespace, name string) *clusterv1beta1.Placement {
	b := Placement(namespace, name)
	if r.Chance(25) {
		return r.unstablePlacement(b).Obj()
	}
	if r.Chance(80) {
		b.Number(one[int32](r, 0, 1, 2, 2, 3, 4, 5, 8, 300))
	}
	if r.Chance(20) {
		b.Predicate(r.fullSelector())
	}
	for range max(0, r.IntN(5)-2) {
		b.Tolerate(r.toleration())
	}
	r.policy(b)
	if r.Chance(30) {
		b.BuiltIn("Spread", one[int32](r, -2, 0, 1, 1, 5, 10))
	}
	if r.Chance(30) {
		r.strategy(b)
	}
	if r.Chance(8) {
		b.Group("special", clusterv1beta1.GroupClusterSelector{CelSelector: r.celSelector()})
	}
	r.tiers(b)
	r.spread(b)
	r.budgetAndScores(b)
	if r.Chance(2) {
		r.makeFullInvalid(b)
	}
	return b.Obj()
}

// unstablePlacement draws a placement whose incumbents often leave: only scores count, and terms cross each other.
func (r Random) unstablePlacement(b *PlacementBuilder) *PlacementBuilder {
	b.Mode(clusterv1beta1.PrioritizerPolicyModeExact).AddOn("load", "cpu", 1).Number(int32(2 + r.IntN(5))) //nolint:gosec // small
	if r.Chance(30) {
		b.BuiltIn("Balance", 1).BuiltIn("Spread", 2)
	}
	r.spread(b)
	b.object.Spec.SpreadPolicy.AntiAffinity = nil
	for _, key := range []string{"region", "zone", "rack"} {
		if r.Chance(60) {
			b.Apart(clusterv1beta1.TopologyKeyTypeLabel, key)
		}
	}
	r.tiers(b)
	return b.Budget(one(r, "1", "1", "20%", "40%"), one(r, 30*time.Second, time.Minute))
}

// tiers draws tiers and a fail-back policy.
func (r Random) tiers(b *PlacementBuilder) {
	if r.Chance(55) {
		return
	}
	for i := range 1 + r.IntN(3) {
		b.Tier(fmt.Sprintf("t%d", i), r.fullSelector())
	}
	if r.Chance(70) {
		b.TierOf("rest")
	}
	if r.Chance(75) {
		b.Failback(one[int32](r, 0, 1, 30, 60, 60, 200))
	}
}

// fullSelector draws a selector that may name clusters and claims too.
func (r Random) fullSelector() clusterv1beta1.ClusterSelector {
	var out clusterv1beta1.ClusterSelector
	switch r.IntN(6) {
	case 0:
		for i := range 12 {
			if r.Chance(35) {
				out.ClusterNames = append(out.ClusterNames, clusterName(i))
			}
		}
	case 1:
		out.ClaimSelector.MatchClaims = map[string]string{"vendor": r.domain("vendor")}
	case 2:
		out.LabelSelector = LabelIs("region", r.domain("region"))
	case 3:
		out.LabelSelector = LabelIs("zone", r.domain("zone"))
	case 4:
		out.CelSelector = r.celSelector()
	default:
		out = r.selector()
	}
	return out
}

func (r Random) celSelector() clusterv1beta1.ClusterCelSelector {
	if r.Chance(2) {
		return clusterv1beta1.ClusterCelSelector{CelExpressions: []string{costly()}}
	}
	return clusterv1beta1.ClusterCelSelector{CelExpressions: []string{r.expression()}}
}

// costly exceeds its cost limit on all but the first clusters, and is fast.
func costly() string {
	haystack := `"` + strings.Repeat("x", 11_000) + `"`
	return `managedCluster.metadata.name < "c002" || ` + haystack + ".contains(" + haystack + ")"
}

func (r Random) spread(b *PlacementBuilder) {
	used := map[string]bool{}
	if r.Chance(50) {
		for range 1 + r.IntN(3) {
			if kind, key := r.topology(); !used[key] {
				b.Even(kind, key, one[int32](r, 0, 1, 1, 2, 3), r.Chance(45))
				used[key] = true
			}
		}
	}
	clear(used)
	if r.Chance(40) {
		for range max(1, r.IntN(5)-1) {
			if kind, key := r.topology(); !used[key] {
				b.Apart(kind, key)
				used[key] = true
			}
		}
	}
}

// budgetAndScores draws a budget, and whether scores are shown.
func (r Random) budgetAndScores(b *PlacementBuilder) {
	if r.Chance(50) {
		b.Budget(one(r, "0", "1", "1", "1", "2", "10%", "25%", "34%", "50%", "100%"),
			one(r, 0, time.Second, 30*time.Second, time.Minute, time.Minute, 5*time.Minute))
	}
	if r.Chance(35) {
		b.ByScore(one(r, "", "0s", "30s", "1m", "1h"))
	}
}

// makeFullInvalid makes one of the newer fields of a spec invalid.
func (r Random) makeFullInvalid(b *PlacementBuilder) {
	switch r.IntN(8) {
	case 0:
		b.TierOf("same").TierOf("same")
	case 1:
		b.TierOf("not-", "c000")
	case 2:
		b.Failback(-1)
	case 3:
		b.Budget(one(r, "101%", "-1", "many"), 0)
	case 4:
		b.Budget("1", one(r, time.Millisecond, 169*time.Hour))
	case 5:
		b.Even(one[clusterv1beta1.TopologyKeyType](r, "Label", "Mood"), one(r, "", "zone"), -1, true)
	case 6:
		b.ByScore(one(r, "1", "1d", "9999h"))
	default:
		b.TierOf("names", one(r, "", "Not_A_Name"))
	}
}

// WithBudget gives a placement tiers, a fail-back with a wait, a budget, and an empty status.
func (r Random) WithBudget(placement *clusterv1beta1.Placement) *clusterv1beta1.Placement {
	b := &PlacementBuilder{object: *placement.DeepCopy()}
	b.object.Status = clusterv1beta1.PlacementStatus{}
	b.Budget(one(r, "1", "1", "2", "3", "25%", "50%"), one(r, 20*time.Second, time.Minute, 2*time.Minute))
	if len(b.object.Spec.Tiers) == 0 {
		b.TierOf("first", clusterName(0), clusterName(1), clusterName(4)).TierOf("rest")
	}
	return b.Failback(one[int32](r, 1, 30, 60)).Obj()
}
