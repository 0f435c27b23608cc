package enginetest

import (
	"math"
	"slices"
	"time"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/fleet"
)

// weights returns what each prioritizer counts, add-on scores under "resource/score".
func weights(policy clusterv1beta1.PrioritizerPolicy) map[string]int {
	out := map[string]int{}
	if policy.Mode != "Exact" {
		out["Balance"], out["Steady"] = 1, 1
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

// choose takes the clusters with the highest totals.
func (r *run) choose(in, guests map[string]bool) map[string]bool {
	weight := weights(r.spec.PrioritizerPolicy)
	total := map[string]int{}
	for prioritizer, w := range weight {
		if w == 0 {
			continue
		}
		for name, value := range r.scores(prioritizer, w, in, guests) {
			total[name] += w * value
		}
	}
	order := names(in)
	slices.SortStableFunc(order, func(a, b string) int {
		aLast, bLast := r.demoted(a, weight["Steady"]), r.demoted(b, weight["Steady"])
		switch {
		case aLast != bLast && bLast:
			return -1
		case aLast != bLast:
			return 1
		case total[a] != total[b]:
			return total[b] - total[a]
		case weight["Balance"] == 0 || r.seats[a] == r.seats[b]:
			return 0
		case r.seats[a]:
			return -1
		default:
			return 1
		}
	})
	if n := r.spec.NumberOfClusters; n != nil && int(*n) < len(order) {
		order = order[:*n]
	}
	out := map[string]bool{}
	for _, name := range order {
		out[name] = true
	}
	return out
}

func (r *run) scores(prioritizer string, weight int, in, guests map[string]bool) map[string]int {
	switch prioritizer {
	case "Balance":
		return r.balance(weight, in)
	case "Steady":
		return r.steady(weight, in)
	case "ResourceAllocatableCPU":
		return r.allocatable("cpu", in, guests)
	case "ResourceAllocatableMemory":
		return r.allocatable("memory", in, guests)
	default:
		return r.addOn(prioritizer, in)
	}
}

// balance counts for each cluster the other placements that chose it.
func (r *run) balance(weight int, in map[string]bool) map[string]int {
	chosen := map[string]map[fleet.Key]bool{}
	most := 0
	for _, slice := range r.w.Slices {
		owner, ok := r.w.OwnerOf(slice)
		if !ok || owner == r.key {
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
	for name := range in {
		switch {
		case r.seats[name] && weight < 0:
			out[name] = -100
		case r.seats[name] || most == 0:
			out[name] = 100
		default:
			out[name] = 2 * int(math.Trunc(100*(0.5-float64(len(chosen[name]))/float64(most))))
		}
	}
	return out
}

func (r *run) steady(weight int, in map[string]bool) map[string]int {
	out := map[string]int{}
	for name := range in {
		if r.seats[name] && weight > 0 {
			out[name] = 100
		}
	}
	return out
}

// allocatable is measured against the clusters that would be candidates however the placement was decided before.
func (r *run) allocatable(resource clusterv1.ResourceName, in, guests map[string]bool) map[string]int {
	amount := map[string]float64{}
	for name := range in {
		status := r.w.Clusters[name].Status
		has, ok := status.Allocatable[resource]
		if _, capacity := status.Capacity[resource]; ok && capacity {
			amount[name] = has.AsApproximateFloat64()
		}
	}
	least, most := math.Inf(1), math.Inf(-1)
	for _, name := range r.lasting(in, guests) {
		if a, known := amount[name]; known {
			least, most = min(least, a), max(most, a)
		}
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

// lasting returns the clusters that do not pass only since they are selected, or all where there are none.
func (r *run) lasting(in, guests map[string]bool) []string {
	var out []string
	for name := range in {
		if guest := guests[name] || r.seats[name] && r.refusedIfNew(name); !guest {
			out = append(out, name)
		}
	}
	if len(out) == 0 {
		return names(in)
	}
	return out
}

// refusedIfNew says whether a cluster would not be let in, were it not selected.
func (r *run) refusedIfNew(name string) bool {
	r.seats[name] = false
	verdict, _ := r.standing(name)
	r.seats[name] = true
	return verdict != ""
}

func (r *run) addOn(prioritizer string, in map[string]bool) map[string]int {
	out := map[string]int{}
	for name := range in {
		for key, object := range r.w.Scores {
			until := object.Status.ValidUntil
			if key.Cluster != name || until != nil && until.Time.Before(r.w.Now) {
				continue
			}
			for _, item := range object.Status.Scores {
				if key.Resource+"/"+item.Name != prioritizer {
					continue
				}
				out[name] = int(item.Value)
				if until != nil {
					r.again = append(r.again, until.Add(time.Nanosecond))
				}
			}
		}
	}
	return out
}
