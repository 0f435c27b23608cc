package enginetest

import (
	"fmt"
	"maps"
	"slices"
	"time"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
)

// FullEvent applies a random event to a full state: outages and recoveries of regions, the passing of time, changes of specs and
// stored status, or an Event.
func (r Random) FullEvent(l *Live) string {
	switch n := r.IntN(100); {
	case n < 12:
		return r.outage(l, one(r, "region", "zone"))
	case n < 22:
		return r.recovery(l, one(r, "region", "zone"))
	case n < 45:
		l.State.Now = l.State.Now.Add(one(r, time.Second, 10*time.Second, 30*time.Second, time.Minute, 300*time.Millisecond))
		return "time passes"
	case n < 53:
		return r.specEvent(l)
	case n < 56:
		key := one(r, l.State.Keys()...)
		withoutStatus := l.State.Placements[key].DeepCopy()
		withoutStatus.Status.Disruption, withoutStatus.Status.Failback = nil, nil
		l.SetPlacement(withoutStatus)
		l.SetPlacement(r.WithStatus(l.State, key))
		return fmt.Sprintf("change the stored status of %s", key)
	case n < 75:
		return r.move(l)
	default:
		return r.Event(l)
	}
}

// outage taints every cluster of a domain, as the health controller does.
func (r Random) outage(l *Live, topology string) string {
	place := r.domain(topology)
	for _, name := range slices.Sorted(maps.Keys(l.State.Clusters)) {
		if l.State.Clusters[name].Labels[topology] == place {
			b := &ClusterBuilder{object: *l.State.Clusters[name].DeepCopy()}
			b.Taint("unreachable", clusterv1.TaintEffectNoSelect, l.State.Now.Truncate(time.Second))
			l.SetCluster(b.Obj())
		}
	}
	return "outage of " + topology + " " + place
}

// recovery removes all taints from the clusters of a domain.
func (r Random) recovery(l *Live, topology string) string {
	place := r.domain(topology)
	for _, name := range slices.Sorted(maps.Keys(l.State.Clusters)) {
		if object := l.State.Clusters[name]; object.Labels[topology] == place && len(object.Spec.Taints) > 0 {
			b := &ClusterBuilder{object: *object.DeepCopy()}
			b.object.Spec.Taints = nil
			l.SetCluster(b.Obj())
		}
	}
	return "recovery of " + topology + " " + place
}

// move gives a cluster other domains.
func (r Random) move(l *Live) string {
	if len(l.State.Clusters) == 0 {
		return r.ClusterEvent(l)
	}
	name := one(r, slices.Sorted(maps.Keys(l.State.Clusters))...)
	l.SetCluster(r.withTopology(l.State.Clusters[name]))
	return "move " + name
}

// specEvent changes one of the newer fields of a spec.
func (r Random) specEvent(l *Live) string {
	key := one(r, l.State.Keys()...)
	object := l.State.Placements[key].DeepCopy()
	drawn := r.fullPlacement(key.Namespace, key.Name).Spec
	switch r.IntN(6) {
	case 0:
		object.Spec.Tiers, object.Spec.FailbackPolicy = drawn.Tiers, drawn.FailbackPolicy
	case 1:
		object.Spec.DisruptionPolicy = drawn.DisruptionPolicy
	case 2:
		object.Spec.SpreadPolicy = drawn.SpreadPolicy
	case 3:
		object.Spec.SortBy, object.Spec.ScoreRateLimit = drawn.SortBy, drawn.ScoreRateLimit
	case 4:
		object.Spec.NumberOfClusters = drawn.NumberOfClusters
	default:
		object.Spec = drawn
	}
	object.Generation++
	l.SetPlacement(object)
	return fmt.Sprintf("change the spec of %s", key)
}

// HistoryEvent applies an event of a history. Unlike FullEvent, it changes no stored status, and keeps budgets and fail-back.
func (r Random) HistoryEvent(l *Live) string {
	switch n := r.IntN(100); {
	case n < 15:
		return r.outage(l, one(r, "region", "zone"))
	case n < 30:
		return r.recovery(l, one(r, "region", "zone"))
	case n < 65:
		l.State.Now = l.State.Now.Add(one(r, time.Second, 10*time.Second, 30*time.Second, time.Minute, 300*time.Millisecond))
		return "time passes"
	case n < 80:
		return r.move(l)
	case n < 92:
		return r.ClusterEvent(l)
	case n < 96:
		return r.bindingEvent(l)
	default:
		key := one(r, l.State.Keys()...)
		object := l.State.Placements[key].DeepCopy()
		drawn := r.fullPlacement(key.Namespace, key.Name).Spec
		object.Spec.NumberOfClusters, object.Spec.SpreadPolicy = drawn.NumberOfClusters, drawn.SpreadPolicy
		object.Generation++
		l.SetPlacement(object)
		return fmt.Sprintf("change the spec of %s", key)
	}
}
