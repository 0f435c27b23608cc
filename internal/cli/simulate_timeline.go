package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/verdict"
	"github.com/berth-project/berth/internal/source/file"
)

// maxInstants is how many instants may precede a requested one.
const maxInstants = 1000

// timeline is a hub in memory with a clock. It decides again when the manager would: when a toleration, a score or a hold
// expires.
type timeline struct {
	bundle   *file.Bundle
	now      time.Time
	snapshot *fleet.Snapshot
	// decided is by the order of the bundle's placements.
	decided []decision
}

// newTimeline decides every placement of a bundle and leaves the bundle unchanged. A taint without a time starts now, as on
// a hub.
func newTimeline(bundle *file.Bundle, now time.Time) *timeline {
	t := &timeline{now: now}
	t.replace(bundle)
	t.decide(allPlacements)
	return t
}

// replace sets the objects of the hub; no placement is decided yet.
func (t *timeline) replace(bundle *file.Bundle) {
	own := *bundle
	own.Clusters = make([]*clusterv1.ManagedCluster, 0, len(bundle.Clusters))
	for _, cluster := range bundle.Clusters {
		own.Clusters = append(own.Clusters, withTaintTimes(cluster, t.now))
	}
	own.Placements, own.Decisions = slices.Clone(bundle.Placements), maps.Clone(bundle.Decisions)
	t.bundle, t.snapshot, t.decided = &own, own.Snapshot(t.now), make([]decision, len(own.Placements))
}

// withTaintTimes returns a cluster whose taints all have a time.
func withTaintTimes(cluster *clusterv1.ManagedCluster, now time.Time) *clusterv1.ManagedCluster {
	silent := func(taint clusterv1.Taint) bool { return taint.TimeAdded.IsZero() }
	if !slices.ContainsFunc(cluster.Spec.Taints, silent) {
		return cluster
	}
	out := cluster.DeepCopy()
	for i := range out.Spec.Taints {
		if silent(out.Spec.Taints[i]) {
			out.Spec.Taints[i].TimeAdded = metav1.NewTime(now.UTC().Truncate(time.Second))
		}
	}
	return out
}

func allPlacements(decision) bool { return true }

// decide decides the placements that are due, in order, and keeps what was decided.
func (t *timeline) decide(due func(decision) bool) timelineStep {
	out := timelineStep{at: t.now}
	t.snapshot = t.snapshot.At(t.now)
	for i, before := range t.bundle.Placements {
		if !due(t.decided[i]) {
			continue
		}
		var made decision
		made, t.snapshot = decideOne(t.bundle, t.snapshot, before)
		out.changes = append(out.changes, made.changes(before.Status.Conditions)...)
		t.decided[i], t.bundle.Placements[i], t.bundle.Decisions[made.key] = made, made.placement, made.slices
	}
	return out
}

// nextInstant returns when the hub looks again, if nothing changes. Ok is false where it never does.
func (t *timeline) nextInstant() (at time.Time, ok bool) {
	for _, d := range t.decided {
		if again := d.requeueAt(); again.After(t.now) && (at.IsZero() || again.Before(at)) {
			at = again
		}
	}
	return at, !at.IsZero()
}

// advance moves the clock to an instant, which is not before now. On the way it decides the placements that are due; at the
// end it decides all.
func (t *timeline) advance(ctx context.Context, to time.Time) ([]timelineStep, error) {
	var out []timelineStep
	for range maxInstants {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		at, ok := t.nextInstant()
		if !ok || !at.Before(to) {
			t.now = to
			return append(out, t.decide(allPlacements)), nil
		}
		t.now = at
		out = append(out, t.decide(func(d decision) bool { return d.requeueAt().Equal(at) }))
	}
	return nil, fmt.Errorf("more than %d instants at which decisions may change come before %s; take smaller steps", maxInstants, instant(to))
}

// requeueAt returns when a placement is to be decided again, if nothing changes; zero for never.
func (d decision) requeueAt() time.Time {
	if d.result == nil {
		return time.Time{}
	}
	first, second := d.result.RecheckAt, d.plan.RecheckAt
	if first.IsZero() || !second.IsZero() && second.Before(first) {
		return second
	}
	return first
}

// timelineStep is what moved at an instant.
type timelineStep struct {
	at      time.Time
	changes []decisionChange
}

// decisionChange is a change of what is decided for one placement: of clusters for the same reason, or of a condition.
type decisionChange struct {
	key      fleet.Key
	change   string
	clusters []string
	why      string
}

// changes returns what a decision changes.
func (d decision) changes(before []metav1.Condition) []decisionChange {
	if d.result == nil {
		return nil
	}
	var out []decisionChange
	for _, name := range d.plan.Removed {
		out = d.appendChange(out, "removed", name)
	}
	for _, name := range d.plan.Added {
		out = d.appendChange(out, "added", name)
	}
	if len(d.plan.Regrouped) > 0 {
		out = append(out, decisionChange{key: d.key, change: "regrouped", clusters: d.plan.Regrouped, why: d.plan.RegroupReason})
	}
	for _, after := range d.placement.Status.Conditions {
		was := dash
		if old := meta.FindStatusCondition(before, after.Type); old != nil {
			was = string(old.Status) + " " + old.Reason
		}
		if is := string(after.Status) + " " + after.Reason; is != was {
			out = append(out, decisionChange{key: d.key, change: after.Type, why: was + " -> " + is})
		}
	}
	return out
}

// appendChange adds the move of a cluster to that of others which move for the same reason.
func (d decision) appendChange(to []decisionChange, change, cluster string) []decisionChange {
	v, exists := d.verdict(cluster)
	why := "is gone"
	if exists {
		why = verdictText(v)
	}
	at := slices.IndexFunc(to, func(m decisionChange) bool { return m.change == change && m.why == why })
	if at < 0 {
		return append(to, decisionChange{key: d.key, change: change, clusters: []string{cluster}, why: why})
	}
	to[at].clusters = append(to[at].clusters, cluster)
	return to
}

// verdict returns the verdict on a cluster. Exists is false where there is no such cluster, or nothing was decided.
func (d decision) verdict(cluster string) (v verdict.Verdict, exists bool) {
	if d.result == nil {
		return verdict.Verdict{}, false
	}
	trace := d.result.Trace
	id, known := trace.Snapshot.ID(cluster)
	if !known || trace.Snapshot.Cluster(id) == nil {
		return verdict.Verdict{}, false
	}
	return trace.Verdict(id), true
}

// verdictText renders a verdict and its reason.
func verdictText(v verdict.Verdict) string {
	if why := explain.Why(v); why != "" {
		return v.Code.String() + ": " + why
	}
	return v.Code.String()
}

// clustersText lists the clusters of a move.
func (m decisionChange) clustersText() string { return cmp.Or(names(m.clusters, maxExamples), dash) }

func instant(at time.Time) string { return at.UTC().Format(time.RFC3339) }
