package live

import (
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/clock"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/engine/fleet"
)

// factGraceShare is the part of the grace that labels and claims have, but for those by which a cluster is in an exclusive set: agents and
// label controllers write them anew within seconds.
const factGraceShare = 3

// withdrawals are the sets, bindings, labels and claims that the API server no longer has and that still count, each until its grace ends.
// What comes back within the grace changes nothing.
type withdrawals struct {
	// grace is how long a set, a binding and membership of a set count after they are gone.
	grace time.Duration
	// enabled is false in commands, which decide what is stored.
	enabled  bool
	clock    clock.PassiveClock
	sets     map[string]time.Time
	bindings map[fleet.Key]time.Time
	clusters map[string]*withdrawingCluster
}

// withdrawingCluster is a cluster that was selected when a label or claim was taken from it.
type withdrawingCluster struct {
	// stored is the cluster as the API server has it.
	stored *clusterv1.ManagedCluster
	facts  map[fact]withdrawnFact
}

// fact is the label or claim of a key.
type fact struct {
	source fleet.Source
	key    string
}

// withdrawnFact is the value that still counts, and when its grace ends.
type withdrawnFact struct {
	value string
	until time.Time
}

func newWithdrawals(at clock.PassiveClock) withdrawals {
	return withdrawals{
		clock: at, sets: map[string]time.Time{}, bindings: map[fleet.Key]time.Time{}, clusters: map[string]*withdrawingCluster{},
	}
}

// factGrace returns how long a label or claim counts after it is gone.
func (w *withdrawals) factGrace(of fact) time.Duration {
	if of.source == fleet.Label && of.key == clusterv1beta2.ClusterSetLabel {
		return w.grace
	}
	return w.grace / factGraceShare
}

// observe records a new state of a cluster. It returns the cluster as decisions count it, and the state as it is stored if the two differ;
// otherwise nil. Before is the cluster as it has counted so far, nil for a new one.
func (w *withdrawals) observe(
	before *fleet.Cluster, selected bool, stored *clusterv1.ManagedCluster,
) (counted, differs *clusterv1.ManagedCluster) {
	moving, known := w.clusters[stored.Name]
	if !w.enabled || before == nil || !selected && !known {
		return stored, nil
	}
	if !known && before.SameFacts(stored) {
		return stored, nil
	}
	now, facts := w.clock.Now(), map[fact]withdrawnFact{}
	note := func(source fleet.Source, counted, is map[string]string) {
		for key, value := range counted {
			if present, there := is[key]; there && present == value {
				continue
			}
			of := fact{source, key}
			until := now.Add(w.factGrace(of))
			if known && !moving.facts[of].until.IsZero() {
				until = moving.facts[of].until
			}
			if of.key == clusterv1beta2.ClusterSetLabel && revoked(before.Object, stored, value) {
				until = now
			}
			facts[of] = withdrawnFact{value, until}
		}
	}
	note(fleet.Label, before.Object.Labels, stored.Labels)
	note(fleet.Claim, before.Claims, claimsOf(stored))
	if len(facts) == 0 {
		delete(w.clusters, stored.Name)
		return stored, nil
	}
	w.clusters[stored.Name] = &withdrawingCluster{stored, facts}
	return w.clusters[stored.Name].counted(), stored
}

// revoked reports whether a change takes a cluster out of a set without a grace.
func revoked(before, stored *clusterv1.ManagedCluster, set string) bool {
	says := stored.Annotations[clusterv1beta2.RevokedSetAnnotation]
	return strings.HasPrefix(says, set+"/") && says != before.Annotations[clusterv1beta2.RevokedSetAnnotation]
}

// counted returns the cluster with the labels and claims that still count.
func (c *withdrawingCluster) counted() *clusterv1.ManagedCluster {
	out := *c.stored
	labels, claims := maps.Clone(out.Labels), claimsOf(c.stored)
	if labels == nil {
		labels = map[string]string{}
	}
	for of, still := range c.facts {
		if of.source == fleet.Label {
			labels[of.key] = still.value
		} else {
			claims[of.key] = still.value
		}
	}
	out.Labels, out.Status.ClusterClaims = labels, nil
	for _, name := range slices.Sorted(maps.Keys(claims)) {
		out.Status.ClusterClaims = append(out.Status.ClusterClaims, clusterv1.ManagedClusterClaim{Name: name, Value: claims[name]})
	}
	return &out
}

func claimsOf(object *clusterv1.ManagedCluster) map[string]string {
	return fleet.NewCluster(object).Claims
}

// end ends the graces that are over, but for the values that a live read has found again; these wait until the informer shows them.
func (c *withdrawingCluster) end(live *clusterv1.ManagedCluster, now, again time.Time) {
	labels, claims := map[string]string(nil), map[string]string(nil)
	if live != nil {
		labels, claims = live.Labels, claimsOf(live)
	}
	for of, still := range c.facts {
		in := labels
		if of.source == fleet.Claim {
			in = claims
		}
		switch value, there := in[of.key]; {
		case still.until.After(now):
		case there && value == still.value:
			c.facts[of] = withdrawnFact{still.value, again}
		default:
			delete(c.facts, of)
		}
	}
}

// next returns when the first grace of the cluster ends.
func (c *withdrawingCluster) next() time.Time {
	var out time.Time
	for _, still := range c.facts {
		if out.IsZero() || still.until.Before(out) {
			out = still.until
		}
	}
	return out
}

// Due are the withdrawals whose grace is over, by name.
type Due struct {
	Sets     []string
	Bindings []fleet.Key
	Clusters []string
	// Start is set once the grace after the start is over.
	Start bool
}

// Empty reports whether nothing is due.
func (d Due) Empty() bool { return len(d.Sets)+len(d.Bindings)+len(d.Clusters) == 0 && !d.Start }

// Found is what a live read found of due withdrawals: the sets and bindings that exist, and the clusters as they are now.
type Found struct {
	Sets     map[string]bool
	Bindings map[fleet.Key]bool
	Clusters map[string]*clusterv1.ManagedCluster
}

// holdWithdrawals makes sets, bindings, labels and claims count for a time after they are gone.
func (f *Fleet) holdWithdrawals(grace time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.withdrawals.grace, f.withdrawals.enabled = grace, true
}

// DueWithdrawals returns the withdrawals whose grace is over.
func (f *Fleet) DueWithdrawals(now time.Time) Due {
	f.mu.Lock()
	defer f.mu.Unlock()
	w, due := &f.withdrawals, Due{Start: !f.retainUntil.IsZero() && !now.Before(f.retainUntil)}
	for _, name := range slices.Sorted(maps.Keys(w.sets)) {
		if !w.sets[name].After(now) {
			due.Sets = append(due.Sets, name)
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(w.bindings), fleet.Key.Compare) {
		if !w.bindings[key].After(now) {
			due.Bindings = append(due.Bindings, key)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.clusters)) {
		if !w.clusters[name].next().After(now) {
			due.Clusters = append(due.Clusters, name)
		}
	}
	return due
}

// EndWithdrawals ends the due withdrawals that a live read has confirmed. What it found again waits for the informer: it is due again at
// the given instant.
func (f *Fleet) EndWithdrawals(due Due, found Found, now, again time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if due.Start {
		f.retainUntil = time.Time{}
		f.enqueueAll(f.enqueue, slices.SortedFunc(maps.Keys(f.unmanaged), fleet.Key.Compare),
			func() explain.Cause { return explain.Cause{Kind: KindManager, What: graceEnded} })
	}
	w := &f.withdrawals
	for _, name := range due.Sets {
		switch until, waits := w.sets[name]; {
		case !waits || until.After(now): // it came back meanwhile
		case found.Sets[name]:
			w.sets[name] = again
		default:
			delete(w.sets, name)
			f.nextEdit().DeleteSet(name)
			f.bindingsChanged(causeFor(kindSet, fleet.Key{Name: name}, deleted), f.namespacesOf(name)...)
		}
	}
	for _, key := range due.Bindings {
		switch until, waits := w.bindings[key]; {
		case !waits || until.After(now):
		case found.Bindings[key]:
			w.bindings[key] = again
		default:
			delete(w.bindings, key)
			f.unbind(key)
		}
	}
	for _, name := range due.Clusters {
		if moving, waits := w.clusters[name]; waits {
			moving.end(found.Clusters[name], now, again)
			f.clusterCounts(moving)
		}
	}
}

// clusterCounts puts a cluster whose withdrawals have changed into the fleet.
func (f *Fleet) clusterCounts(moving *withdrawingCluster) {
	counted, stored := moving.stored, (*clusterv1.ManagedCluster)(nil)
	if len(moving.facts) > 0 {
		counted, stored = moving.counted(), moving.stored
	} else {
		delete(f.withdrawals.clusters, moving.stored.Name)
	}
	f.recordCluster(f.nextEdit(), counted, stored)
}

// withdrawSet begins the withdrawal of a set.
func (f *Fleet) withdrawSet(object *clusterv1beta2.ManagedClusterSet) {
	now := f.clock.Now()
	until := now.Add(f.withdrawals.grace)
	if object.Annotations[clusterv1beta2.RevokedAnnotation] != "" {
		until = now
	}
	f.withdrawals.sets[object.Name] = until
	f.nextEdit().WithdrawSet(object.Name)
}

// withdrawBinding begins the withdrawal of a binding, unless it has begun.
func (f *Fleet) withdrawBinding(object *clusterv1beta2.ManagedClusterSetBinding) {
	now := f.clock.Now()
	key := fleet.Key{Namespace: object.Namespace, Name: object.Name}
	if _, waits := f.withdrawals.bindings[key]; waits {
		return
	}
	until := now.Add(f.withdrawals.grace)
	if object.Annotations[clusterv1beta2.RevokedAnnotation] != "" {
		until = now
	}
	f.withdrawals.bindings[key] = until
	f.nextEdit().WithdrawBinding(object.Namespace, object.Name)
}
