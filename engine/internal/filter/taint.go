package filter

import (
	"time"

	"github.com/bits-and-blooms/bitset"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/program"
	"github.com/berth-project/berth/engine/verdict"
)

// maxTolerationSeconds is the longest toleration; a larger tolerationSeconds is no limit.
const maxTolerationSeconds = 100 * 365 * 24 * 3600

// TaintResult is the result of the taints.
type TaintResult struct {
	// In holds the clusters that pass. It is read-only: if every cluster passes, it may be the set that Taints was
	// given.
	In *bitset.BitSet
	// Rejected are the clusters with a taint that is not tolerated.
	Rejected *bitset.BitSet
	// Until is the earliest instant at which a toleration of a cluster that passed expires; zero if none has an end.
	Until time.Time
	// RetainedOnly are the incumbents that passed and would not pass as newcomers.
	RetainedOnly *bitset.BitSet
	// Penalized are the clusters that passed with a PreferNoSelect taint that is not tolerated.
	Penalized *bitset.BitSet

	snapshot    *fleet.Snapshot
	tolerations []program.Toleration
	incumbents  *bitset.BitSet
}

// Taints removes from in every cluster with a taint that is not tolerated. It reads taints and, for NoSelectIfNew, the
// placement's own decisions. PreferNoSelect rejects no cluster; it penalizes.
func Taints(s *fleet.Snapshot, p *program.Program, in, incumbents *bitset.BitSet) TaintResult {
	out := TaintResult{
		In: in, Rejected: s.EmptySet(), RetainedOnly: s.EmptySet(), Penalized: s.EmptySet(),
		snapshot: s, tolerations: p.Tolerations, incumbents: incumbents,
	}
	tainted := in.Clone()
	s.ClustersWith(fleet.TermTainted).IntersectInto(tainted)
	if tainted.None() {
		return out
	}
	out.Rejected, out.RetainedOnly, out.Penalized = tainted, &bitset.BitSet{}, &bitset.BitSet{}
	for id := range tainted.EachSet() {
		out.admit(id)
	}
	out.In = in.Difference(out.Rejected)
	return out
}

// admit moves a cluster with taints from the rejected to the admitted clusters, if it passes.
func (t *TaintResult) admit(id fleet.ID) {
	stands := t.check(id, t.incumbents.Test(id))
	if stands.rejectedBy != nil {
		return
	}
	t.Rejected.Clear(id)
	t.Until = earliest(t.Until, stands.until)
	t.Penalized.SetTo(id, stands.penalized)
	t.RetainedOnly.SetTo(id, t.check(id, false).rejectedBy != nil)
}

// Verdict returns the verdict on a cluster that a taint rejects.
func (t *TaintResult) Verdict(id fleet.ID) verdict.Verdict {
	stands := t.check(id, t.incumbents.Test(id))
	return stands.span.verdict(*stands.rejectedBy)
}

// Untolerated returns the keys of the taints of a cluster that reject it.
func (t *TaintResult) Untolerated(id fleet.ID) []string {
	var out []string
	for _, taint := range t.snapshot.Cluster(id).Object.Spec.Taints {
		if taint.Effect == clusterv1.TaintEffectNoSelect && !Toleration(taint, t.tolerations, t.snapshot.Now).Tolerated {
			out = append(out, taint.Key)
		}
	}
	return out
}

// taintCheck is the effect of a cluster's taints: whether the cluster is penalized, and the taint that rejects it, if
// any, with the time it was tolerated. Nothing changes before until; zero means that it never changes.
type taintCheck struct {
	until      time.Time
	penalized  bool
	rejectedBy *clusterv1.Taint
	span       Span
}

func (t *TaintResult) check(id fleet.ID, incumbent bool) taintCheck {
	var out taintCheck
	taints := t.snapshot.Cluster(id).Object.Spec.Taints
	for i, taint := range taints {
		if taint.Effect == clusterv1.TaintEffectNoSelectIfNew && incumbent {
			continue
		}
		span := Toleration(taint, t.tolerations, t.snapshot.Now)
		switch {
		case span.Tolerated:
			out.until = earliest(out.until, span.Until)
		case taint.Effect == clusterv1.TaintEffectPreferNoSelect:
			out.penalized = true
		default:
			return taintCheck{rejectedBy: &taints[i], span: span}
		}
	}
	return out
}

// Span is how long a taint is tolerated.
type Span struct {
	Tolerated bool
	// Until is when the last matching toleration expires or expired; zero if it has no end or no toleration matches.
	Until time.Time
}

// Toleration returns how long a taint is tolerated, by the matching toleration that lasts longest. A taint without
// timeAdded counts as added now, so its toleration never expires.
func Toleration(taint clusterv1.Taint, tolerations []program.Toleration, now time.Time) Span {
	var out Span
	for _, toleration := range tolerations {
		if !matches(toleration, taint) {
			continue
		}
		if toleration.Seconds == nil || *toleration.Seconds > maxTolerationSeconds {
			return Span{Tolerated: true}
		}
		if *toleration.Seconds <= 0 {
			continue
		}
		if taint.TimeAdded.IsZero() {
			out = Span{Tolerated: true}
			continue
		}
		until := taint.TimeAdded.Add(time.Duration(*toleration.Seconds) * time.Second)
		if out.Until.Before(until) {
			out = Span{Tolerated: now.Before(until), Until: until}
		}
	}
	return out
}

func matches(toleration program.Toleration, taint clusterv1.Taint) bool {
	return (toleration.Effect == "" || toleration.Effect == taint.Effect) &&
		(toleration.Key == "" || toleration.Key == taint.Key) &&
		(toleration.Exists || toleration.Value == taint.Value)
}

func (s Span) verdict(taint clusterv1.Taint) verdict.Verdict {
	argument := verdict.Taint{Key: taint.Key, Value: taint.Value, Effect: string(taint.Effect), ExpiredAt: s.Until}
	if s.Until.IsZero() {
		return verdict.Verdict{Code: verdict.Tainted, Argument: argument}
	}
	return verdict.Verdict{Code: verdict.Expired, Argument: argument}
}

// earliest returns the earlier of two instants; zero means no instant.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
