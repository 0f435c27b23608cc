package health

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/internal/telemetry"
)

// everybody is the request to review the suspicion. No cluster has an empty name. However many leases are renewed at
// once, it is in the queue once.
const everybody = ""

// roster is what the loop knows of every cluster, and whether the hub is suspected. A renewed lease costs an entry in
// it, and wakes nobody. It is safe for concurrent use.
type roster struct {
	limit    int
	unjoined bool
	// wake enqueues a cluster, or everybody. It must not block.
	wake func(name string)

	mu       sync.Mutex
	patients map[string]*entry
	// floor is from when on silence counts: the start of the loop, or the end of the last suspicion.
	floor time.Time
	// suspicion is the condition that says that the hub is suspected; nil while it is not.
	suspicion *metav1.Condition
}

type entry struct {
	patient
	// cluster is nil where there is but a lease.
	cluster *clusterv1.ManagedCluster
	// stored is what the lease says of when it was renewed.
	stored time.Time
}

func newRoster(limit int, unjoined bool) *roster {
	return &roster{limit: limit, unjoined: unjoined, wake: func(string) {}, patients: map[string]*entry{}}
}

// begin starts the clock of every cluster. What the roster knows by then is what was there at the start.
func (r *roster) begin(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.floor = now
}

// recall takes over a suspicion from whoever ran the loop before.
func (r *roster) recall(set *clusterv1beta2.ManagedClusterSet) {
	r.mu.Lock()
	defer r.mu.Unlock()
	stored := meta.FindStatusCondition(set.Status.Conditions, clusterv1beta2.ManagedClusterSetConditionHealthSuspended)
	if r.floor.IsZero() && stored != nil && stored.Status == metav1.ConditionTrue {
		r.suspicion = stored.DeepCopy()
	}
}

// setCluster records a cluster as it is stored, and wakes it where that can change what is to be done.
func (r *roster) setCluster(cluster *clusterv1.ManagedCluster, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.at(cluster.Name)
	if e.cluster != nil && older(cluster, e.cluster) {
		return // the loop's own write was faster
	}
	if e.set(cluster, now) {
		r.wake(cluster.Name)
		r.reviewIf(true)
	}
}

// keep records what the loop's own write has made of a cluster, unless it has gone meanwhile.
func (r *roster) keep(cluster *clusterv1.ManagedCluster, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.patients[cluster.Name]
	if e != nil && e.cluster != nil && e.cluster.UID == cluster.UID && !older(cluster, e.cluster) {
		e.set(cluster, now)
	}
}

// set returns whether anything has changed that the loop goes by.
func (e *entry) set(cluster *clusterv1.ManagedCluster, now time.Time) bool {
	found := read(cluster)
	changed := e.cluster == nil || e.facts != found || !slices.Equal(e.cluster.Spec.Taints, cluster.Spec.Taints)
	e.cluster, e.facts, e.since = cluster, found, time.Time{}
	if available := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1.ManagedClusterConditionAvailable); available != nil {
		e.since = earlier(available.LastTransitionTime.Time, now)
	}
	return changed
}

func (r *roster) removeCluster(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.patients[name]; e != nil {
		e.cluster, e.facts, e.since = nil, facts{}, time.Time{}
		r.tidy(name)
		r.reviewIf(true)
	}
}

// setLease records that a cluster has renewed its lease. Who may be silent until then needs no second look before. What
// was seen before is no news: informers repeat themselves.
func (r *roster) setLease(name string, renewed, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.at(name)
	switch silent := e.silent(now); {
	case e.renewed.IsZero():
		r.wake(name)
	case e.stored.Equal(renewed):
		return
	default:
		e.seen = now
		r.reviewIf(silent)
	}
	e.stored, e.renewed = renewed, earlier(renewed, now)
}

func (r *roster) removeLease(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.patients[name]; e != nil {
		e.stored, e.renewed, e.seen = time.Time{}, time.Time{}, time.Time{}
		r.wake(name)
		r.reviewIf(true)
		r.tidy(name)
	}
}

func (r *roster) at(name string) *entry {
	e := r.patients[name]
	if e == nil {
		e = &entry{}
		r.patients[name] = e
	}
	return e
}

// tidy forgets what has neither a cluster nor a lease.
func (r *roster) tidy(name string) {
	if e := r.patients[name]; e.cluster == nil && e.renewed.IsZero() {
		delete(r.patients, name)
	}
}

// reviewIf lets the suspicion, if there is one, be reviewed where something happened that may end it.
func (r *roster) reviewIf(may bool) {
	if may && r.suspicion != nil {
		r.wake(everybody)
	}
}

// gather returns what there is to decide on a cluster; ok is false where it is gone. One that has been silent for too
// long is the occasion to ask whether it is the only one, and before anybody is given up the hub is suspected.
func (r *roster) gather(name string, now time.Time) (out situation, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.patients[name]
	if e == nil || e.cluster == nil {
		return situation{}, false
	}
	out = situation{patient: e.patient, cluster: e.cluster, floor: r.floor, unjoined: r.unjoined, now: now}
	if r.suspicion == nil && out.expired() {
		r.suspect(now)
	}
	out.suspended = r.suspicion != nil
	return out, true
}

// suspect begins a suspicion where too many clusters are silent.
func (r *roster) suspect(now time.Time) {
	found := r.census(now, now)
	if !found.suspicious(r.limit) {
		return
	}
	r.suspicion = &metav1.Condition{
		Type:   clusterv1beta2.ManagedClusterSetConditionHealthSuspended,
		Status: metav1.ConditionTrue,
		Reason: clusterv1beta2.ReasonTooManySilent,
		Message: fmt.Sprintf("%d of %d joined ManagedClusters fell silent at about the same time, more than %d %%: the hub or its network is suspected. "+
			"None is newly reported or tainted until no more than half of that share is silent", found.silent, found.joined, r.limit),
		LastTransitionTime: stamp(now),
	}
	r.wake(everybody)
}

// census counts; what was declared long before the window's end does not count.
func (r *roster) census(now, window time.Time) census {
	var out census
	for _, e := range r.patients {
		if !e.counts(window) {
			continue
		}
		out.joined++
		if e.silent(now) {
			out.silent++
		}
	}
	return out
}

// review returns what is to be said about a suspicion, and whether there still is one. It changes nothing.
func (r *roster) review(now time.Time) (say metav1.Condition, suspended bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	calm := metav1.Condition{
		Type: clusterv1beta2.ManagedClusterSetConditionHealthSuspended, Status: metav1.ConditionFalse, Reason: clusterv1beta2.ReasonFewSilent,
		Message: "The health of ManagedClusters is reported", LastTransitionTime: stamp(now),
	}
	if r.suspicion == nil || r.census(now, r.suspicion.LastTransitionTime.Time).calm(r.limit) {
		return calm, false
	}
	return *r.suspicion, true
}

// resume ends a suspicion, if there is one. Every cluster gets a new grace, and is looked at again.
func (r *roster) resume(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.suspicion == nil {
		return
	}
	r.suspicion, r.floor = nil, now
	for name, e := range r.patients {
		if e.cluster != nil {
			r.wake(name)
		}
	}
}

// state returns what the metrics show.
func (r *roster) state() telemetry.HealthState {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := telemetry.HealthState{Suspended: r.suspicion != nil}
	for _, e := range r.patients {
		switch {
		case e.cluster == nil:
		case e.available == metav1.ConditionTrue:
			out.Available++
		case e.available == metav1.ConditionFalse:
			out.Unavailable++
		case e.declared():
			out.Unreachable++
		default:
			out.Unreported++
		}
	}
	return out
}

// older says whether a state of a cluster came before another one of the same object.
func older(a, b *clusterv1.ManagedCluster) bool {
	if a.UID != b.UID {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(a.ResourceVersion, b.ResourceVersion)
	return err == nil && order < 0
}
