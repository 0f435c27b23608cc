package health

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/kube/when"
)

// fleetRequest is the request for a fleet review. No cluster has an empty name. The queue holds it at most once, however many leases
// are renewed.
const fleetRequest = ""

// maxWatchGap is how long the watch of the leases may be interrupted without effect. In a longer gap the agents may not have reached
// the hub either, so every cluster gets a new grace period.
const maxWatchGap = 5 * time.Second

// healthCache holds the observed health of every cluster and of the hub. A renewed lease changes an entry and enqueues nothing. It is
// safe for concurrent use.
type healthCache struct {
	limit int
	// simulate enables the simulation of annotated clusters.
	simulate bool
	// enqueue adds a cluster or the fleet review to the work queue. It must not block.
	enqueue func(name string)

	mu       sync.Mutex
	clusters map[string]*entry
	// silenceFrom is the time from which silence counts: the start of the controller, or the end of the last disruption or gap. It
	// is zero before the start.
	silenceFrom time.Time
	// disruption is nil unless reporting is suspended.
	disruption *fullDisruption
	unjoined   unjoinedState
	// firstPass is true until the informer shows the taints of the first pass. unobserved are the clusters whose write in the first
	// pass the informer has not shown yet.
	firstPass  bool
	unobserved map[string]struct{}
	// managerClockSuspected is the direction in which most clusters are skewed; 0: the clock of the manager is assumed to be right.
	managerClockSuspected int

	// gapSince is when the watch of the leases was interrupted; zero while it runs. gaps counts the interruptions.
	gapSince time.Time
	gaps     int
	// postponed are the clusters that would have expired during the gap.
	postponed map[string]struct{}
}

type entry struct {
	clusterHealth
	// cluster is nil if there is only a lease.
	cluster *clusterv1.ManagedCluster
	// reportTime is the transition time of the condition Available, and renewTime the time in the lease. They are compared only with
	// their earlier values, to detect a change.
	reportTime, renewTime time.Time
	// gaps is how many gaps there were when the lease was last seen.
	gaps int
}

func newHealthCache(limit int, simulate bool) *healthCache {
	return &healthCache{
		limit: limit, simulate: simulate, enqueue: func(string) {}, clusters: map[string]*entry{}, postponed: map[string]struct{}{},
		firstPass: true, unobserved: map[string]struct{}{},
	}
}

// start starts the grace period of every cluster and enqueues the fleet review. The cache must hold every stored object.
func (h *healthCache) start(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.silenceFrom = now
	h.enqueue(fleetRequest)
}

// setCluster records a stored cluster, and enqueues it if the decision may change.
func (h *healthCache) setCluster(cluster *clusterv1.ManagedCluster, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	e := h.getOrCreate(cluster.Name)
	if e.cluster != nil && older(cluster, e.cluster) {
		return // the cache holds a later write of the controller
	}
	_, shown := h.unobserved[cluster.Name]
	delete(h.unobserved, cluster.Name)
	changed := h.set(e, cluster, now)
	if changed {
		h.enqueue(cluster.Name)
	}
	h.reviewIf(shown || changed && (h.disruption != nil || h.unjoined.release || h.firstPass))
}

// setWritten records a cluster that the controller wrote, unless it was deleted meanwhile.
func (h *healthCache) setWritten(cluster *clusterv1.ManagedCluster, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	e := h.clusters[cluster.Name]
	if e != nil && e.cluster != nil && e.cluster.UID == cluster.UID && !older(cluster, e.cluster) {
		if h.firstPass && older(e.cluster, cluster) {
			h.unobserved[cluster.Name] = struct{}{}
		}
		h.set(e, cluster, now)
		h.reviewIf(h.unjoined.release)
	}
}

// set reports whether a fact changed that a decision reads.
func (h *healthCache) set(e *entry, cluster *clusterv1.ManagedCluster, now time.Time) bool {
	found := readFacts(cluster, h.simulate)
	changed := e.cluster == nil || e.facts != found || !slices.Equal(e.cluster.Spec.Taints, cluster.Spec.Taints)
	var reportTime time.Time
	if available := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1.ManagedClusterConditionAvailable); available != nil {
		reportTime = available.LastTransitionTime.Time
	}
	isNew := found.available != e.available || !reportTime.Equal(e.reportTime)
	switch {
	case !isNew:
	case found.available == metav1.ConditionUnknown && h.silenceFrom.IsZero():
		e.unknownSince = when.NotAfter(reportTime, now)
	case found.available == metav1.ConditionUnknown && e.available != metav1.ConditionUnknown:
		e.unknownSince = now
	case (found.available == metav1.ConditionTrue || found.available == metav1.ConditionFalse) && !h.silenceFrom.IsZero():
		e.lastSeen = now
	}
	if e.cluster != nil && found.grace < e.grace && now.Before(e.expiry(h.silenceFrom)) {
		e.shortenedAt = now // the agent has renewed its lease by the longer period
	}
	e.cluster, e.facts, e.reportTime = cluster, found, reportTime
	return changed
}

func (h *healthCache) removeCluster(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if e := h.clusters[name]; e != nil {
		e.cluster, e.facts, e.reportTime, e.unknownSince = nil, facts{}, time.Time{}, time.Time{}
		delete(h.unobserved, name)
		h.removeUnused(name)
		h.reviewIf(h.disruption != nil || h.unjoined.release || h.firstPass)
	}
}

// setLease records the time in the lease of a cluster. Any other time than before is a renewal, observed now. An informer may repeat
// an event, so the same time is no renewal.
func (h *healthCache) setLease(name string, renewTime, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	e := h.getOrCreate(name)
	switch {
	case !e.leased:
		e.leased = true
		if !h.silenceFrom.IsZero() {
			e.lastSeen = now
		}
		h.enqueue(name)
	case e.renewTime.Equal(renewTime):
		return
	default:
		h.reviewIf(h.disruption != nil && (e.lastSeen.IsZero() || e.silent(now, time.Time{})))
		e.lastSeen = now
		if e.gaps == h.gaps && e.cluster != nil {
			h.measureClock(name, e, renewTime, now)
		}
	}
	e.renewTime, e.gaps = renewTime, h.gaps
}

func (h *healthCache) removeLease(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if e := h.clusters[name]; e != nil {
		e.leased, e.renewTime, e.lastSeen, e.skew = false, time.Time{}, time.Time{}, skew{}
		h.enqueue(name)
		h.reviewIf(h.disruption != nil)
		h.removeUnused(name)
	}
}

func (h *healthCache) getOrCreate(name string) *entry {
	e := h.clusters[name]
	if e == nil {
		e = &entry{}
		h.clusters[name] = e
	}
	return e
}

// removeUnused removes an entry without a cluster and a lease.
func (h *healthCache) removeUnused(name string) {
	if e := h.clusters[name]; e.cluster == nil && !e.leased {
		delete(h.clusters, name)
	}
}

// reviewIf enqueues the fleet review if the change may end a disruption.
func (h *healthCache) reviewIf(may bool) {
	if may {
		h.enqueue(fleetRequest)
	}
}

// watchEnded records that the watch of the leases was interrupted. No cluster expires until it continues.
func (h *healthCache) watchEnded(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.gapSince.IsZero() {
		h.gapSince = now
		h.gaps++
	}
}

// watchStarted records that the watch of the leases continues. After a long gap every cluster has a new grace period.
func (h *healthCache) watchStarted(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.gapSince.IsZero() {
		return
	}
	if now.Sub(h.gapSince) > maxWatchGap && !h.silenceFrom.IsZero() {
		h.silenceFrom = now
	}
	h.gapSince = time.Time{}
	for name := range h.postponed {
		h.enqueue(name)
	}
	clear(h.postponed)
}

// input returns the input of a decision; ok is false if the cluster is gone. If the cluster has expired, input counts the silent
// clusters first, so that reporting is suspended before any cluster is reported Unknown.
func (h *healthCache) input(name string, now time.Time) (out decisionInput, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	e := h.clusters[name]
	if e == nil || e.cluster == nil {
		return decisionInput{}, false
	}
	out = decisionInput{clusterHealth: e.clusterHealth, cluster: e.cluster, renewTime: e.renewTime, silenceFrom: h.silenceFrom, now: now}
	out.mode, out.release = h.unjoined.mode, h.unjoined.release
	if out.overdue() && !h.gapSince.IsZero() {
		out.watchInterrupted = true
		h.postponed[name] = struct{}{}
	}
	if h.disruption == nil && out.expired() {
		h.detectDisruption(now)
	}
	out.suspended = h.disruption != nil
	out.clock, out.clockLookAgain = h.clockStatus(e, now)
	return out, true
}

// state returns the values of the metrics.
func (h *healthCache) state() State {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := State{
		Suspended: h.disruption != nil, ClockSuspected: h.managerClockSuspected != 0, UnjoinedSelected: len(h.unjoined.selected),
	}
	for _, e := range h.clusters {
		if e.cluster != nil && meta.IsStatusConditionTrue(e.cluster.Status.Conditions, clusterv1.ManagedClusterConditionWorkEvictionHeld) {
			out.EvictionsHeld++
		}
		switch {
		case e.cluster == nil:
		case e.available == metav1.ConditionTrue:
			out.Available++
		case e.available == metav1.ConditionFalse:
			out.Unavailable++
		case e.unknown():
			out.Unreachable++
		default:
			out.Unreported++
		}
	}
	return out
}

// older reports whether a is an earlier state than b of the same cluster.
func older(a, b *clusterv1.ManagedCluster) bool {
	if a.UID != b.UID {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(a.ResourceVersion, b.ResourceVersion)
	return err == nil && order < 0
}
