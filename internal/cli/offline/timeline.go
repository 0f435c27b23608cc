package offline

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
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/kube/phrase"
	"github.com/berth-project/berth/internal/source/file"
)

// maxInstants is how many instants may precede a requested one.
const maxInstants = 1000

// Timeline is a hub in memory with a clock. It decides again when the manager would: when a toleration, a score or a hold
// expires.
type Timeline struct {
	Bundle   *file.Bundle
	Now      time.Time
	snapshot *fleet.Snapshot
	// Decided is by the order of the bundle's placements.
	Decided []Decision
}

// NewTimeline decides every placement of a bundle and leaves the bundle unchanged. A taint without a time starts now, as on
// a hub.
func NewTimeline(bundle *file.Bundle, now time.Time) *Timeline {
	t := &Timeline{Now: now}
	t.Replace(bundle)
	t.Decide(AllPlacements)
	return t
}

// Replace sets the objects of the hub; no placement is decided yet.
func (t *Timeline) Replace(bundle *file.Bundle) {
	own := *bundle
	own.Clusters = make([]*clusterv1.ManagedCluster, 0, len(bundle.Clusters))
	for _, cluster := range bundle.Clusters {
		own.Clusters = append(own.Clusters, withTaintTimes(cluster, t.Now))
	}
	own.Placements, own.Decisions = slices.Clone(bundle.Placements), maps.Clone(bundle.Decisions)
	t.Bundle, t.snapshot, t.Decided = &own, own.Snapshot(t.Now), make([]Decision, len(own.Placements))
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

// AllPlacements is a condition that every placement meets.
func AllPlacements(Decision) bool { return true }

// Decide decides the placements that are due, in order, and keeps what was decided.
func (t *Timeline) Decide(due func(Decision) bool) TimelineStep {
	out := TimelineStep{At: t.Now}
	t.snapshot = t.snapshot.At(t.Now)
	for i, before := range t.Bundle.Placements {
		if !due(t.Decided[i]) {
			continue
		}
		var made Decision
		made, t.snapshot = decideOne(t.Bundle, t.snapshot, before)
		out.Changes = append(out.Changes, made.changes(before.Status.Conditions)...)
		t.Decided[i], t.Bundle.Placements[i], t.Bundle.Decisions[made.Key] = made, made.Placement, made.Slices
	}
	return out
}

// NextInstant returns when the hub looks again, if nothing changes. Ok is false where it never does.
func (t *Timeline) NextInstant() (at time.Time, ok bool) {
	for _, d := range t.Decided {
		if again := d.requeueAt(); again.After(t.Now) && (at.IsZero() || again.Before(at)) {
			at = again
		}
	}
	return at, !at.IsZero()
}

// Advance moves the clock to an instant, which is not before now. On the way it decides the placements that are due; at the
// end it decides all.
func (t *Timeline) Advance(ctx context.Context, to time.Time) ([]TimelineStep, error) {
	var out []TimelineStep
	for range maxInstants {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		at, ok := t.NextInstant()
		if !ok || !at.Before(to) {
			t.Now = to
			return append(out, t.Decide(AllPlacements)), nil
		}
		t.Now = at
		out = append(out, t.Decide(func(d Decision) bool { return d.requeueAt().Equal(at) }))
	}
	return nil, fmt.Errorf("more than %d instants at which decisions may change come before %s; take smaller steps", maxInstants,
		printer.FormatTime(to))
}

// requeueAt returns when a placement is to be decided again, if nothing changes; zero for never.
func (d Decision) requeueAt() time.Time {
	if d.Result == nil {
		return time.Time{}
	}
	first, second := d.Result.RecheckAt, d.Plan.RecheckAt
	if first.IsZero() || !second.IsZero() && second.Before(first) {
		return second
	}
	return first
}

// TimelineStep is what moved at an instant.
type TimelineStep struct {
	At      time.Time
	Changes []decisionChange
}

// decisionChange is a change of what is decided for one placement: of clusters for the same reason, or of a condition.
type decisionChange struct {
	Key      fleet.Key
	Change   string
	Clusters []string
	Why      string
}

// changes returns what a decision changes.
func (d Decision) changes(before []metav1.Condition) []decisionChange {
	if d.Result == nil {
		return nil
	}
	var out []decisionChange
	for _, name := range d.Plan.Removed {
		out = d.appendChange(out, "removed", name)
	}
	for _, name := range d.Plan.Added {
		out = d.appendChange(out, "added", name)
	}
	if len(d.Plan.Regrouped) > 0 {
		out = append(out, decisionChange{Key: d.Key, Change: "regrouped", Clusters: d.Plan.Regrouped, Why: d.Plan.RegroupReason})
	}
	for _, after := range d.Placement.Status.Conditions {
		was := printer.Dash
		if old := meta.FindStatusCondition(before, after.Type); old != nil {
			was = string(old.Status) + " " + old.Reason
		}
		if is := string(after.Status) + " " + after.Reason; is != was {
			out = append(out, decisionChange{Key: d.Key, Change: after.Type, Why: was + " -> " + is})
		}
	}
	return out
}

// appendChange adds the move of a cluster to that of others which move for the same reason.
func (d Decision) appendChange(to []decisionChange, change, cluster string) []decisionChange {
	v, exists := d.Verdict(cluster)
	why := "is gone"
	if exists {
		why = verdictText(v)
	}
	at := slices.IndexFunc(to, func(m decisionChange) bool { return m.Change == change && m.Why == why })
	if at < 0 {
		return append(to, decisionChange{Key: d.Key, Change: change, Clusters: []string{cluster}, Why: why})
	}
	to[at].Clusters = append(to[at].Clusters, cluster)
	return to
}

// Verdict returns the verdict on a cluster. Exists is false where there is no such cluster, or nothing was decided.
func (d Decision) Verdict(cluster string) (v verdict.Verdict, exists bool) {
	if d.Result == nil {
		return verdict.Verdict{}, false
	}
	trace := d.Result.Trace
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

// ClustersText lists the clusters of a move.
func (d decisionChange) ClustersText() string {
	return cmp.Or(phrase.Join(d.Clusters, phrase.MaxNames), printer.Dash)
}
