package enginetest

import (
	"cmp"
	"math"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/fleet"
)

// weights returns the weight of each prioritizer, of add-on scores under "resource/score".
func weights(policy clusterv1beta1.PrioritizerPolicy) map[string]int {
	out := map[string]int{}
	if policy.Mode != "Exact" {
		out["Balance"], out["Steady"], out["Spread"] = 1, 1, 2
	}
	for _, config := range policy.Configurations {
		name := config.ScoreCoordinate.BuiltIn
		if config.ScoreCoordinate.Type == "AddOn" {
			name = config.ScoreCoordinate.AddOn.ResourceName + "/" + config.ScoreCoordinate.AddOn.ScoreName
		}
		out[name] = 1
		if config.Weight != nil {
			out[name] = int(*config.Weight)
		}
	}
	return out
}

// score adds up the totals, without Spread, which depends on the other picked clusters.
func (v *view) score() {
	for prioritizer, weight := range v.weight {
		if weight == 0 || prioritizer == "Spread" {
			continue
		}
		for name, value := range v.scores(prioritizer, weight) {
			v.total[name] += weight * value
		}
	}
}

// rank returns the rank of a cluster as far as it does not depend on other picked clusters: the lower list goes first.
func (v *view) rank(name string) []int {
	return []int{v.tier[name], toInt(v.penalized(name)), -v.total[name], v.newcomerRank(name)}
}

// newcomerRank is 1 for a newcomer if Balance counts: an incumbent of the same total precedes it.
func (v *view) newcomerRank(name string) int {
	return toInt(v.weight["Balance"] != 0 && !v.selected[name])
}

func toInt(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// precedes reports whether a cluster precedes another in the static order.
func (v *view) precedes(a, b string) bool {
	return cmp.Or(slices.Compare(v.rank(a), v.rank(b)), cmp.Compare(a, b)) < 0
}

func (v *view) scores(prioritizer string, weight int) map[string]int {
	switch prioritizer {
	case "Balance":
		return v.balance(weight)
	case "Steady":
		return v.steady(weight)
	case "ResourceAllocatableCPU":
		return v.allocatable("cpu")
	case "ResourceAllocatableMemory":
		return v.allocatable("memory")
	default:
		return v.addOn(prioritizer)
	}
}

// balance counts, for each cluster, the other placements that selected it.
func (v *view) balance(weight int) map[string]int {
	chosen := map[string]map[fleet.Key]bool{}
	most := 0
	for _, slice := range v.w.Slices {
		owner, ok := v.w.OwnerOf(slice)
		if !ok || owner == v.key {
			continue
		}
		for _, decision := range slice.Status.Decisions {
			if chosen[decision.ClusterName] == nil {
				chosen[decision.ClusterName] = map[fleet.Key]bool{}
			}
			chosen[decision.ClusterName][owner] = true
			most = max(most, len(chosen[decision.ClusterName]))
		}
	}
	out := map[string]int{}
	for name := range v.in {
		switch {
		case v.selected[name] && weight < 0:
			out[name] = -100
		case v.selected[name] || most == 0:
			out[name] = 100
		default:
			out[name] = 2 * int(math.Trunc(100*(0.5-float64(len(chosen[name]))/float64(most))))
		}
	}
	return out
}

func (v *view) steady(weight int) map[string]int {
	out := map[string]int{}
	for name := range v.in {
		if v.selected[name] && weight > 0 {
			out[name] = 100
		}
	}
	return out
}

// allocatable uses the scale of the candidates.
func (v *view) allocatable(resource clusterv1.ResourceName) map[string]int {
	amount := map[string]float64{}
	for name := range v.in {
		status := v.w.Clusters[name].Status
		has, ok := status.Allocatable[resource]
		if _, capacity := status.Capacity[resource]; ok && capacity {
			amount[name] = has.AsApproximateFloat64()
		}
	}
	least, most := math.Inf(1), math.Inf(-1)
	for _, a := range amount {
		least, most = min(least, a), max(most, a)
	}
	out := map[string]int{}
	for name, a := range amount {
		switch {
		case least >= most:
			out[name] = 100
		default:
			out[name] = int(math.Trunc(((min(max(a, least), most)-least)/(most-least) - 0.5) * 2 * 100))
		}
	}
	return out
}

// rejectedIfNew reports whether a newcomer with these taints would be rejected.
func (v *view) rejectedIfNew(name string) bool {
	other := *v
	other.selected = nil
	verdict, _ := other.taintVerdict(name)
	return verdict != ""
}

// addOn takes the value of a score. A value that is out of date counts for a time for a selected cluster that is better off with it.
func (v *view) addOn(prioritizer string) map[string]int {
	out := map[string]int{}
	for name := range v.in {
		for key, object := range v.w.Scores {
			for _, item := range object.Status.Scores {
				if key.Cluster == name && key.Resource+"/"+item.Name == prioritizer {
					v.count(name, int(item.Value), object.Status.ValidUntil, v.weight[prioritizer], out)
				}
			}
		}
	}
	return out
}

// count counts a value that is valid until an instant, and notes when it ends to count.
func (v *view) count(name string, value int, validUntil *metav1.Time, weight int, out map[string]int) {
	if validUntil == nil {
		out[name] = value
		return
	}
	until := validUntil.Time
	if until.Before(v.w.Now) {
		until = until.Add(v.w.ExpressionHold)
		if !v.selected[name] || value*weight <= 0 || !v.w.Now.Before(until) {
			return
		}
	}
	out[name] = value
	v.rechecks = append(v.rechecks, until.Add(time.Nanosecond))
}
