package record

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/engine/plan"
	"github.com/berth-project/berth/engine/verdict"
)

// maxMoves is how many clusters of one change are kept, those that went before those that came.
const maxMoves = 100

// Change is one change of who is selected. It is read-only.
type Change struct {
	At         time.Time
	Generation int64
	Causes     []explain.Cause
	MoreCauses int
	Selected   int
	// Added, Removed, Restored and Regrouped count every cluster; Moves name some that came, went or were put back.
	Added, Removed, Restored, Regrouped int
	Moves                               []Move
	// RegroupedClusters name some that had to change their decision group, sorted, and RegroupReason says why.
	RegroupedClusters []string
	RegroupReason     string
}

// Move is a cluster that came, went, or was put back.
type Move struct {
	Cluster         string
	Added, Restored bool
	// Before and After are the verdicts of two runs; nil where there is none.
	Before, After *Finding
}

// Finding is a verdict, or that there is no such cluster.
type Finding struct {
	verdict.Verdict

	Gone bool
}

// change describes what a turn stored.
func (t *Attempt) change(written plan.Plan, now time.Time) Change {
	out := Change{
		At: now.UTC(), Generation: t.last.Placement.Generation, Causes: t.causes.named, MoreCauses: t.causes.more,
		Selected: t.last.Result.Selected, Added: len(written.Newcomers()), Removed: len(written.Removed),
		Restored: len(written.Restored), Regrouped: len(written.Regrouped), RegroupReason: written.RegroupReason,
	}
	for _, side := range []struct {
		names           []string
		added, restored bool
	}{{names: written.Removed}, {names: written.Restored, restored: true}, {names: written.Newcomers(), added: true}} {
		for _, name := range side.names[:min(len(side.names), maxMoves-len(out.Moves))] {
			out.Moves = append(out.Moves, Move{
				Cluster: name, Added: side.added, Restored: side.restored, Before: finding(t.before.Result, name), After: finding(t.last.Result, name),
			})
		}
	}
	out.RegroupedClusters = slices.Clone(written.Regrouped[:min(len(written.Regrouped), maxMoves-len(out.Moves))])
	if len(out.Causes) == 0 {
		out.Causes = []explain.Cause{{Kind: "Time", What: timeCause(out.Moves)}}
	}
	return out
}

// finding returns what a run said of a cluster; nil where the run is not known.
func finding(result *engine.Result, cluster string) *Finding {
	if result == nil {
		return nil
	}
	id, ok := result.Trace.Snapshot.ID(cluster)
	if !ok || result.Trace.Snapshot.Cluster(id) == nil {
		return &Finding{Gone: true}
	}
	return &Finding{Verdict: result.Trace.VerdictWithoutRank(id)}
}

// timeCause says what became due where nothing but time can have changed a decision.
func timeCause(moves []Move) string {
	for _, move := range moves {
		switch {
		case move.After != nil && move.After.Code == verdict.Expired:
			return "a toleration ran out"
		case move.Before != nil && move.Before.Code == verdict.Held:
			return "spec.disruptionPolicy allowed a held cluster to be dropped"
		case move.Added && move.Before != nil && move.Before.Code == verdict.Waiting:
			return "spec.failbackPolicy let a cluster of an earlier tier replace one of a later tier"
		}
	}
	return "something that was decided for a time ran out"
}

// Visible returns the change as somebody may see it. Where a cluster is given, it names that one only.
func (c *Change) Visible(sees func(string) bool, cluster string) explain.Change {
	out := explain.Change{
		At: c.At, Generation: c.Generation, Causes: []explain.Cause{}, MoreCauses: c.MoreCauses,
		Selected: c.Selected, Added: c.Added, Removed: c.Removed,
		Restored: c.Restored, Regrouped: c.Regrouped, RegroupReason: c.RegroupReason, Moves: []explain.Move{}, More: c.unnamedCount(),
	}
	for _, cause := range c.Causes {
		out.Causes = append(out.Causes, cause.Redacted(sees))
	}
	for _, move := range c.Moves {
		switch seen := sees(move.Cluster); {
		case cluster == "" && !seen:
			out.Hidden++
		case seen && (cluster == "" || cluster == move.Cluster):
			out.Moves = append(out.Moves, explain.Move{
				Cluster: move.Cluster, Added: move.Added, Restored: move.Restored, Before: move.Before.state(sees), After: move.After.state(sees),
			})
		}
	}
	for _, name := range c.RegroupedClusters {
		switch seen := sees(name); {
		case cluster == "" && !seen:
			out.Hidden++
		case seen && (cluster == "" || cluster == name):
			out.RegroupedClusters = append(out.RegroupedClusters, name)
		}
	}
	slices.SortStableFunc(out.Moves, func(a, b explain.Move) int { return strings.Compare(a.Cluster, b.Cluster) })
	return out
}

// unnamedCount counts the clusters that the change moved and does not name.
func (c *Change) unnamedCount() int {
	return c.Added + c.Removed + c.Restored + c.Regrouped - len(c.Moves) - len(c.RegroupedClusters)
}

// mayMove says whether a change moved a cluster, or may have, since it does not name all.
func (c *Change) mayMove(cluster string) bool {
	return c.unnamedCount() > 0 || slices.Contains(c.RegroupedClusters, cluster) ||
		slices.ContainsFunc(c.Moves, func(move Move) bool { return move.Cluster == cluster })
}

func (f *Finding) state(sees func(string) bool) *explain.State {
	switch {
	case f == nil:
		return nil
	case f.Gone:
		return &explain.State{Verdict: explain.Gone, Why: "there is no such cluster"}
	default:
		out := explain.StateOf(f.Verdict, sees)
		return &out
	}
}

// size estimates what a change takes.
func (c *Change) size() int {
	const whole, cause, name, each = 256, 128, 16, 160
	out := whole + cause*len(c.Causes)
	for _, cluster := range c.RegroupedClusters {
		out += name + len(cluster)
	}
	for _, move := range c.Moves {
		out += each + len(move.Cluster)
		for _, found := range []*Finding{move.Before, move.After} {
			if found == nil {
				continue
			}
			if clauses, ok := found.Argument.(verdict.Mismatches); ok {
				for _, clause := range clauses {
					out += each + len(clause.Text) + len(clause.Problem)
				}
			}
		}
	}
	return out
}

// maxNamed is how many clusters a log line names of those that came, and of those that went.
const maxNamed = 20

// Fields returns what a log line says of the change beside its counts: what woke the placement, who moved, and the verdicts
// of those that went. The keys are stable.
func (c *Change) Fields() []any {
	var causes []string
	for _, cause := range c.Causes {
		causes = append(causes, cause.String())
	}
	var came, went, back []string
	found := map[string]int{}
	for _, move := range c.Moves {
		switch {
		case move.Added:
			came = append(came, move.Cluster)
			continue
		case move.Restored:
			back = append(back, move.Cluster)
			continue
		}
		went = append(went, move.Cluster)
		found[move.After.state(visibleToAll).Verdict]++
	}
	var verdicts []string
	for _, name := range slices.Sorted(maps.Keys(found)) {
		verdicts = append(verdicts, fmt.Sprintf("%s %d", name, found[name]))
	}
	return []any{
		"generation", c.Generation, "causes", causes, "moreCauses", c.MoreCauses,
		"addedClusters", came[:min(maxNamed, len(came))], "removedClusters", went[:min(maxNamed, len(went))],
		"restoredClusters", back[:min(maxNamed, len(back))], "removedFor", verdicts, "regroupedClusters", c.RegroupedClusters[:min(maxNamed, len(c.RegroupedClusters))],
	}
}

func visibleToAll(string) bool { return true }
