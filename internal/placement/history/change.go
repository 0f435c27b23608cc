package history

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

// maxMoves bounds the clusters that a change names. Removed clusters are named first.
const maxMoves = 100

// Change is one change of the decisions of a placement. It is read-only.
type Change struct {
	At         time.Time
	Generation int64
	Causes     []explain.Cause
	MoreCauses int
	Selected   int
	// Added, Removed, Restored and Regrouped are total counts. Moves name at most maxMoves clusters.
	Added, Removed, Restored, Regrouped int
	Moves                               []Move
	// RegroupedClusters name clusters that moved to another decision group, sorted. RegroupReason is the reason.
	RegroupedClusters []string
	RegroupReason     string
}

// Move is a cluster that was added, removed or restored.
type Move struct {
	Cluster         string
	Added, Restored bool
	// Before and After are its verdicts in the run before and in this run; nil if unknown.
	Before, After *Finding
}

// Finding is the verdict of a cluster. Gone means that the cluster does not exist.
type Finding struct {
	verdict.Verdict

	Gone bool
}

// change describes a stored plan.
func (a *Attempt) change(written plan.Plan, now time.Time) Change {
	out := Change{
		At: now.UTC(), Generation: a.last.Placement.Generation, Causes: a.causes.named, MoreCauses: a.causes.more,
		Selected: a.last.Result.Selected, Added: len(written.Newcomers()), Removed: len(written.Removed),
		Restored: len(written.Restored), Regrouped: len(written.Regrouped), RegroupReason: written.RegroupReason,
	}
	for _, side := range []struct {
		names           []string
		added, restored bool
	}{{names: written.Removed}, {names: written.Restored, restored: true}, {names: written.Newcomers(), added: true}} {
		for _, name := range side.names[:min(len(side.names), maxMoves-len(out.Moves))] {
			out.Moves = append(out.Moves, Move{
				Cluster: name, Added: side.added, Restored: side.restored, Before: finding(a.before.Result, name), After: finding(a.last.Result, name),
			})
		}
	}
	out.RegroupedClusters = slices.Clone(written.Regrouped[:min(len(written.Regrouped), maxMoves-len(out.Moves))])
	if len(out.Causes) == 0 {
		out.Causes = []explain.Cause{{Kind: "Time", What: timeCause(out.Moves)}}
	}
	return out
}

// finding returns the verdict of a cluster in a run; nil if the run is unknown.
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

// timeCause names the deadline that changed a decision without any other cause.
func timeCause(moves []Move) string {
	for _, move := range moves {
		switch {
		case move.After != nil && move.After.Code == verdict.Expired:
			return "a toleration expired"
		case move.Before != nil && move.Before.Code == verdict.Held:
			return "spec.disruptionPolicy allowed to remove a held cluster"
		case move.Added && move.Before != nil && move.Before.Code == verdict.Waiting:
			return "spec.failbackPolicy let a cluster of an earlier tier replace one of a later tier"
		}
	}
	return "a deadline of the decision passed"
}

// Visible returns the change without the clusters that visible rejects. If a cluster is given, it names only that
// cluster.
func (c *Change) Visible(visible func(string) bool, cluster string) explain.Change {
	out := explain.Change{
		At: c.At, Generation: c.Generation, Causes: []explain.Cause{}, MoreCauses: c.MoreCauses,
		Selected: c.Selected, Added: c.Added, Removed: c.Removed,
		Restored: c.Restored, Regrouped: c.Regrouped, RegroupReason: c.RegroupReason, Moves: []explain.Move{}, More: c.unnamedCount(),
	}
	for _, cause := range c.Causes {
		out.Causes = append(out.Causes, cause.Redacted(visible))
	}
	for _, move := range c.Moves {
		switch shown := visible(move.Cluster); {
		case cluster == "" && !shown:
			out.Hidden++
		case shown && (cluster == "" || cluster == move.Cluster):
			out.Moves = append(out.Moves, explain.Move{
				Cluster: move.Cluster, Added: move.Added, Restored: move.Restored, Before: move.Before.state(visible), After: move.After.state(visible),
			})
		}
	}
	for _, name := range c.RegroupedClusters {
		switch shown := visible(name); {
		case cluster == "" && !shown:
			out.Hidden++
		case shown && (cluster == "" || cluster == name):
			out.RegroupedClusters = append(out.RegroupedClusters, name)
		}
	}
	slices.SortStableFunc(out.Moves, func(a, b explain.Move) int { return strings.Compare(a.Cluster, b.Cluster) })
	return out
}

// unnamedCount counts the moved clusters that the change does not name.
func (c *Change) unnamedCount() int {
	return c.Added + c.Removed + c.Restored + c.Regrouped - len(c.Moves) - len(c.RegroupedClusters)
}

// mayMove reports whether the change moved a cluster, or may have moved it because not all are named.
func (c *Change) mayMove(cluster string) bool {
	return c.unnamedCount() > 0 || slices.Contains(c.RegroupedClusters, cluster) ||
		slices.ContainsFunc(c.Moves, func(move Move) bool { return move.Cluster == cluster })
}

func (f *Finding) state(visible func(string) bool) *explain.State {
	switch {
	case f == nil:
		return nil
	case f.Gone:
		return &explain.State{Verdict: explain.Gone, Why: "there is no such cluster"}
	default:
		out := explain.StateOf(f.Verdict, visible)
		return &out
	}
}

// size estimates the memory of a change.
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

// maxNamed bounds the clusters in each list of a log line.
const maxNamed = 20

// Fields returns the keys and values of a log line: the causes, the moved clusters, and the verdicts of the removed ones. The
// keys are stable.
func (c *Change) Fields() []any {
	var causes []string
	for _, cause := range c.Causes {
		causes = append(causes, cause.String())
	}
	var added, removed, restored []string
	found := map[string]int{}
	for _, move := range c.Moves {
		switch {
		case move.Added:
			added = append(added, move.Cluster)
			continue
		case move.Restored:
			restored = append(restored, move.Cluster)
			continue
		}
		removed = append(removed, move.Cluster)
		found[move.After.state(visibleToAll).Verdict]++
	}
	var verdicts []string
	for _, name := range slices.Sorted(maps.Keys(found)) {
		verdicts = append(verdicts, fmt.Sprintf("%s %d", name, found[name]))
	}
	return []any{
		"generation", c.Generation, "causes", causes, "moreCauses", c.MoreCauses,
		"addedClusters", added[:min(maxNamed, len(added))], "removedClusters", removed[:min(maxNamed, len(removed))],
		"restoredClusters", restored[:min(maxNamed, len(restored))], "removedFor", verdicts, "regroupedClusters",
		c.RegroupedClusters[:min(maxNamed, len(c.RegroupedClusters))],
	}
}

func visibleToAll(string) bool { return true }
