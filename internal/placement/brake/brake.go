// Package brake stops evictions when too many clusters would leave placements at once for one kind of facts: labels, claims, scores or
// taints. A label controller that fails, agents that report nothing and a script with a wrong list look like this, and so does an order. So
// the clusters stay, a condition of the set reports it, and a person or the end of the cause ends it.
//
// The brake counts what decisions remove. It decides nothing: the engine gets the clusters to keep.
package brake

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/internal/kube/phrase"
)

const (
	// span is the time in which clusters that leave count together.
	span = time.Minute
	// limit is the share of clusters or decisions, in percent, above which evictions stop: as for silence.
	limit = 55
	// minSize is the size of a fleet or of a set below which its share means nothing.
	minSize = 10
	// minPlacements and minClusters are how many must be concerned for the share of all decisions: less is the repair of one cluster.
	minPlacements, minClusters = 5, 3
	// quiet is how long nothing must have been kept until a brake ends. restored is the same for the brakes of an earlier process, until
	// every placement is decided once.
	quiet, restored = span, 4 * time.Minute
	// released is how long a set has no brake after a person has released one: what was kept leaves meanwhile.
	released = 10 * time.Minute
	// maxAhead is how far ahead of the clock a release may be to have an effect.
	maxAhead = 5 * time.Minute
)

// ID names a brake: a set, or the set global for the whole hub, and the kind of facts.
type ID struct {
	Set  string
	Fact engine.Fact
}

// Decision is a decision to judge.
type Decision struct {
	Key        fleet.Key
	Departures []engine.Departure
	// SameSpec is set if the placement has not been edited since its last decision. What an edit removes is not counted, and leaves unless a
	// brake keeps it already.
	SameSpec bool
	// SameReach is set if the sets that the placement uses, and their selectors, are those of its last decision. Otherwise clusters that are
	// outside of them have left because of a set or a binding.
	SameReach bool
	// Kept are the clusters that were kept after the last decision.
	Kept map[string]string
	// Snapshot is the fleet of the decision.
	Snapshot *fleet.Snapshot
}

// Brake judges decisions. Its methods may be called from any goroutine.
type Brake struct {
	clock   clock.PassiveClock
	timeout time.Duration
	// changed is called for a set whose conditions may have changed, and wake for a placement that has to be decided again. Both are called
	// with the lock held.
	changed func(set string)
	wake    func(fleet.Key)

	// partial is set if only a part of the hub is known, so that the shares of the hub are unknown too.
	partial bool

	mu      sync.Mutex
	counted map[ID]*tally
	engaged map[ID]*state
	// over are the brakes that ended, until that is written.
	over map[ID]string
	// releasedUntil is until when a set has no brake.
	releasedUntil map[string]time.Time
}

// tally counts what has left.
type tally struct {
	clusters   window[string]
	placements window[fleet.Key]
	decisions  window[decision]
	// allDecisions and allSelected are the decisions of the hub and the clusters that these have, with those that have left. They were counted
	// at the given instant.
	allDecisions, allSelected int
	countedAt                 time.Time
}

type decision struct {
	placement fleet.Key
	cluster   string
}

// state is a brake that keeps clusters.
type state struct {
	since   time.Time
	message string
	// keeps are the clusters that it keeps, by placement. endsAt is when it ends if it keeps none.
	keeps  map[fleet.Key][]string
	endsAt time.Time
}

// reason returns why the brake keeps a cluster.
func (s *state) reason() string { return "a brake keeps it: " + s.message }

// New returns a brake. It ends by itself after the timeout; 0: never. Changed is called for a set whose conditions may have changed, wake
// for a placement that has to be decided again; neither may block.
func New(at clock.PassiveClock, timeout time.Duration, changed func(set string), wake func(fleet.Key)) *Brake {
	return &Brake{
		clock: at, timeout: timeout, changed: changed, wake: wake,
		counted: map[ID]*tally{}, engaged: map[ID]*state{}, over: map[ID]string{}, releasedUntil: map[string]time.Time{},
	}
}

// OfPart leaves out the brake of the hub, unless it is on: only a part of the hub is known, and a share of it means nothing. Call it before
// the first decision.
func (b *Brake) OfPart() { b.partial = true }

// HealthTaint reports whether the health controller sets taints of a key. They have a brake of their own.
func HealthTaint(key string) bool {
	return slices.Contains([]string{
		clusterv1.ManagedClusterTaintUnreachable, clusterv1.ManagedClusterTaintUnavailable, clusterv1.ManagedClusterTaintDenied,
	}, key)
}

// Judge counts what a decision removes, and returns the clusters to keep, each with the reason; nil for none.
func (b *Brake) Judge(of Decision) map[string]string {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.clock.Now()
	b.release(of.Key)
	var kept map[string]string
	keep := func(cluster string, by ID) {
		if kept == nil {
			kept = map[string]string{}
		}
		on := b.engaged[by]
		kept[cluster] = on.reason()
		on.keeps[of.Key], on.endsAt = append(on.keeps[of.Key], cluster), now.Add(quiet)
	}
	var free []engine.Departure
	for _, leaving := range of.Departures {
		if of.counts(leaving) && !b.isReleased(leaving, now) {
			b.countInSets(leaving, of.Snapshot, now)
			free = append(free, leaving)
		}
	}
	for _, leaving := range free {
		if _, found := b.inSets(leaving); !found && !b.partial {
			b.countOnHub(of.Key, leaving, of.Snapshot, now)
		}
	}
	for _, leaving := range of.Departures {
		if by, found := b.keeper(&of, leaving); found {
			keep(leaving.Cluster, by)
		}
	}
	return kept
}

// keeper returns the brake that keeps a cluster.
func (b *Brake) keeper(of *Decision, leaving engine.Departure) (by ID, found bool) {
	if _, before := of.Kept[leaving.Cluster]; !of.counts(leaving) && !before || leaving.OutsideSets && !of.SameReach {
		return ID{}, false
	}
	if by, found = b.inSets(leaving); found {
		return by, true
	}
	return b.onHub(leaving)
}

// counts reports whether a cluster leaves because of facts about it, and not because of an edit, a set or a binding.
func (d *Decision) counts(leaving engine.Departure) bool {
	return d.SameSpec && (d.SameReach || !leaving.OutsideSets)
}

// inSets returns the brake of a set that keeps a cluster.
func (b *Brake) inSets(leaving engine.Departure) (by ID, found bool) {
	for _, set := range leaving.Sets {
		for _, fact := range leaving.Facts {
			if _, on := b.engaged[ID{set, fact}]; on && set != clusterv1beta2.GlobalClusterSetName {
				return ID{set, fact}, true
			}
		}
	}
	return ID{}, false
}

// isReleased reports whether a cluster leaves through a set whose brake a person or the timeout has released. It counts nowhere: otherwise
// the brake of the hub, or of another set that has the cluster, would keep what was released.
func (b *Brake) isReleased(leaving engine.Departure, now time.Time) bool {
	return slices.ContainsFunc(leaving.Sets, func(set string) bool { return now.Before(b.releasedUntil[set]) })
}

// onHub returns the brake of the hub that keeps a cluster.
func (b *Brake) onHub(leaving engine.Departure) (by ID, found bool) {
	for _, fact := range leaving.Facts {
		if _, on := b.engaged[ID{clusterv1beta2.GlobalClusterSetName, fact}]; on {
			return ID{clusterv1beta2.GlobalClusterSetName, fact}, true
		}
	}
	return ID{}, false
}

// countInSets counts a cluster in its sets.
func (b *Brake) countInSets(leaving engine.Departure, s *fleet.Snapshot, now time.Time) {
	for _, name := range leaving.Sets {
		set, exists := s.Set(name)
		if !exists || name == clusterv1beta2.GlobalClusterSetName {
			continue
		}
		for _, fact := range leaving.Facts {
			id := ID{name, fact}
			counted := b.tally(id)
			counted.clusters.note(leaving.Cluster, now)
			left, members := counted.clusters.count(), set.Count(s)
			if !exceeds(left, members) { // those that are no members any more can only make the share smaller
				continue
			}
			all := members + counted.outside(set, s)
			if all >= minSize && exceeds(left, all) {
				b.engage(id, now, fmt.Sprintf("at least %d of %s of the set would have left placements within %s", left,
					phrase.Count(all, "cluster"), span))
			}
		}
	}
}

// outside returns how many of the counted clusters are no members of a set.
func (t *tally) outside(set *fleet.Set, s *fleet.Snapshot) int {
	out := 0
	for name := range t.clusters.last {
		if id, known := s.ID(name); !known || s.Cluster(id) == nil || !set.Has(s.Cluster(id)) {
			out++
		}
	}
	return out
}

// countOnHub counts a cluster that leaves a placement.
func (b *Brake) countOnHub(key fleet.Key, leaving engine.Departure, s *fleet.Snapshot, now time.Time) {
	for _, fact := range leaving.Facts {
		id := ID{clusterv1beta2.GlobalClusterSetName, fact}
		counted := b.tally(id)
		counted.decisions.drop(now)
		counted.clusters.drop(now)
		if left := counted.decisions.count(); left == 0 || now.Sub(counted.countedAt) >= span {
			counted.allDecisions, counted.allSelected, counted.countedAt = s.TotalDecisions()+left, s.TotalSelected()+counted.unselected(s), now
		}
		counted.clusters.note(leaving.Cluster, now)
		counted.placements.note(key, now)
		counted.decisions.note(decision{key, leaving.Cluster}, now)
		clusters, all := counted.clusters.count(), s.ClustersWith(fleet.TermExists).Count()
		switch {
		case all < minSize:
		case exceeds(clusters, all):
			b.engage(id, now, fmt.Sprintf("at least %d of %s would have left placements within %s", clusters, phrase.Count(all, "cluster"), span))
		case clusters >= minClusters && counted.placements.count() >= minPlacements && counted.exceedsDecisions():
			b.engage(id, now, fmt.Sprintf("at least %d of the %d decisions of the hub would have gone within %s", counted.decisions.count(),
				counted.allDecisions, span))
		}
	}
}

// exceedsDecisions reports whether most decisions of the hub have left. So that a tenant with many placements of a few clusters, in however
// many namespaces, engages no brake for the others, most of the clusters that placements have must have left one too.
func (t *tally) exceedsDecisions() bool {
	return exceeds(t.decisions.count(), t.allDecisions) && exceeds(t.clusters.count(), t.allSelected)
}

// unselected returns how many of the counted clusters no placement has any more.
func (t *tally) unselected(s *fleet.Snapshot) int {
	out := 0
	for name := range t.clusters.last {
		if id, known := s.ID(name); !known || s.DecisionCount(id) == 0 {
			out++
		}
	}
	return out
}

func exceeds(part, of int) bool { return part*100 > limit*of }

func (b *Brake) tally(id ID) *tally {
	if b.counted[id] == nil {
		b.counted[id] = &tally{}
	}
	return b.counted[id]
}

// engage stops evictions, unless they are stopped, or were released a short time ago.
func (b *Brake) engage(id ID, now time.Time, found string) {
	if _, on := b.engaged[id]; on || now.Before(b.releasedUntil[id.Set]) {
		return
	}
	b.engaged[id] = newState(now.Truncate(time.Second), now.Add(quiet), fmt.Sprintf("%s by their %s. "+
		"They stay selected until that is mended. To let them leave: kubectl berth holds release managedclusterset/%s --hold Brake --reason WHY",
		found, words[id.Fact], id.Set))
	b.changed(id.Set)
}

func newState(since, endsAt time.Time, message string) *state {
	return &state{since: since, message: message, keeps: map[fleet.Key][]string{}, endsAt: endsAt}
}

// words are the kinds of facts as messages name them.
var words = map[engine.Fact]string{ //nolint:gochecknoglobals // a constant that Go cannot spell
	engine.Labels: "labels", engine.Claims: "claims", engine.Scores: "scores", engine.Taints: "taints",
}

// Qualify records that every cluster of a placement qualifies.
func (b *Brake) Qualify(key fleet.Key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.release(key)
}

// Remove drops a placement that is no longer decided. What has left it does not count any more.
func (b *Brake) Remove(key fleet.Key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.release(key)
	for _, counted := range b.counted {
		delete(counted.placements.last, key)
		maps.DeleteFunc(counted.decisions.last, func(of decision, _ time.Time) bool { return of.placement == key })
	}
}

// release removes what brakes keep of a placement.
func (b *Brake) release(key fleet.Key) {
	for _, on := range b.engaged {
		delete(on.keeps, key)
	}
}

// Tick ends the brakes that have kept nothing for a time, or whose time is over.
func (b *Brake) Tick() {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.clock.Now()
	for id, on := range b.engaged {
		switch {
		case b.timeout > 0 && now.Sub(on.since) >= b.timeout:
			b.releasedUntil[id.Set] = now.Add(released)
			b.end(id, "--brake-timeout is over: the clusters leave")
		case len(on.keeps) == 0 && !now.Before(on.endsAt):
			b.end(id, "Nothing is kept any more")
		}
	}
}

// end ends a brake. The placements that it keeps clusters of are decided again.
func (b *Brake) end(id ID, why string) {
	on := b.engaged[id]
	delete(b.engaged, id)
	delete(b.counted, id)
	b.over[id] = why
	for key := range on.keeps {
		b.wake(key)
	}
	b.changed(id.Set)
}

// Observe takes what the API server has of a set: a person has released its brakes, or an earlier process has stopped evictions.
func (b *Brake) Observe(set *clusterv1beta2.ManagedClusterSet) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now, releasedBy := b.clock.Now(), clusterv1beta2.BrakeReleased(set)
	if releasedBy.After(now.Add(maxAhead)) {
		releasedBy = time.Time{}
	}
	stored := map[ID]metav1.Condition{}
	for _, condition := range clusterv1beta2.BrakeConditions(set) {
		stored[ID{set.Name, factOf(condition)}] = condition
	}
	for _, fact := range engine.Facts() {
		id := ID{set.Name, fact}
		condition, on := stored[id]
		_, ended := b.over[id]
		if ended && !on {
			delete(b.over, id)
		}
		if on && !ended && b.engaged[id] == nil {
			b.engaged[id] = newState(condition.LastTransitionTime.Time, now.Add(restored), condition.Message)
		}
		if b.engaged[id] != nil && !on { // it is not stored yet, or the set was made anew
			b.changed(set.Name)
		}
		if engaged := b.engaged[id]; engaged != nil && !releasedBy.Before(engaged.since) {
			b.releasedUntil[set.Name] = now.Add(released)
			b.end(id, "Released by a user: the clusters leave")
		}
	}
}

// Conditions returns the conditions of the brakes of a set that are on, or that have ended since it was last observed.
func (b *Brake) Conditions(set string) []metav1.Condition {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []metav1.Condition
	for _, fact := range engine.Facts() {
		condition := metav1.Condition{Type: clusterv1beta2.ManagedClusterSetConditionBraked + string(fact)}
		if on := b.engaged[ID{set, fact}]; on != nil {
			condition.Status, condition.Reason, condition.Message = metav1.ConditionTrue, clusterv1beta2.ReasonTooManyLeave, on.message
			condition.LastTransitionTime = metav1.NewTime(on.since)
			out = append(out, condition)
		} else if why, ended := b.over[ID{set, fact}]; ended {
			condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, clusterv1beta2.ReasonBrakeEnded, why
			condition.LastTransitionTime = metav1.NewTime(b.clock.Now().Truncate(time.Second))
			out = append(out, condition)
		}
	}
	return out
}

func factOf(condition metav1.Condition) engine.Fact {
	return engine.Fact(strings.TrimPrefix(condition.Type, clusterv1beta2.ManagedClusterSetConditionBraked))
}

// Count returns how many brakes are on.
func (b *Brake) Count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.engaged)
}
