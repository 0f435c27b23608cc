package health

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
)

// minSilent is how many clusters must be silent before reporting is suspended.
const minSilent = 3

// fullDisruption is the state while reporting is suspended because so many clusters are silent at once. No further cluster is reported
// Unknown, and no taint is added. kube-controller-manager calls the same state of a zone full disruption.
type fullDisruption struct {
	// condition is the condition of the set `global`.
	condition metav1.Condition
	// since is when it began.
	since time.Time
}

// count counts the joined clusters that count for a disruption, and the silent ones among them.
type count struct{ joined, silent int }

// exceeds reports whether a disruption begins. The limit is in percent.
func (c count) exceeds(limit int) bool {
	return c.silent >= minSilent && c.silent*100 > limit*c.joined
}

// recovered reports whether a disruption ends: at half of the limit, so that it does not flap.
func (c count) recovered(limit int) bool {
	return limit >= 100 || c.silent*200 <= limit*c.joined
}

// count counts the clusters. Silence before the floor does not count, nor do clusters that were reported Unknown long before the end
// of the window.
func (h *healthCache) count(now, floor, window time.Time) count {
	var out count
	for _, e := range h.clusters {
		if !e.countsForDisruption(window) {
			continue
		}
		out.joined++
		if e.silent(now, floor) {
			out.silent++
		}
	}
	return out
}

// restoreDisruption restores the disruption that an earlier process stored. It has no effect after start.
func (h *healthCache) restoreDisruption(set *clusterv1beta2.ManagedClusterSet) {
	h.mu.Lock()
	defer h.mu.Unlock()
	stored := meta.FindStatusCondition(set.Status.Conditions, clusterv1beta2.ManagedClusterSetConditionHealthSuspended)
	if h.silenceFrom.IsZero() && stored != nil && stored.Status == metav1.ConditionTrue {
		h.disruption = &fullDisruption{condition: *stored.DeepCopy(), since: stored.LastTransitionTime.Time}
	}
}

// detectDisruption begins a disruption if too many clusters are silent.
func (h *healthCache) detectDisruption(now time.Time) {
	found := h.count(now, h.silenceFrom, now)
	if !found.exceeds(h.limit) {
		return
	}
	h.disruption = &fullDisruption{since: now, condition: metav1.Condition{
		Type:   clusterv1beta2.ManagedClusterSetConditionHealthSuspended,
		Status: metav1.ConditionTrue,
		Reason: clusterv1beta2.ReasonTooManySilent,
		Message: fmt.Sprintf("%d of %d joined ManagedClusters stopped renewing their leases at about the same time, more than %d %%: the hub or "+
			"its network is probably at fault. "+
			"No further cluster is reported or tainted until no more than half of that share is silent. Check the network of the hub", found.silent,
			found.joined, h.limit),
		LastTransitionTime: stamp(now),
	}}
	h.enqueue(fleetRequest)
}

// reviewDisruption returns the condition to report, and whether the disruption continues. It changes nothing. Clusters that were not
// observed since the start count as silent, so a restart alone ends no disruption.
func (h *healthCache) reviewDisruption(now time.Time) (condition metav1.Condition, suspended bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.disruption == nil || h.count(now, time.Time{}, h.disruption.since).recovered(h.limit) {
		return metav1.Condition{
			Type: clusterv1beta2.ManagedClusterSetConditionHealthSuspended, Status: metav1.ConditionFalse, Reason: clusterv1beta2.ReasonFewSilent,
			Message: "The health of ManagedClusters is reported", LastTransitionTime: stamp(now),
		}, false
	}
	return h.disruption.condition, true
}

// endDisruption ends a disruption, if there is one. Every cluster gets a new grace period and is enqueued.
func (h *healthCache) endDisruption(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.disruption == nil {
		return
	}
	h.disruption, h.silenceFrom = nil, now
	for name, e := range h.clusters {
		if e.cluster != nil {
			h.enqueue(name)
		}
	}
}
