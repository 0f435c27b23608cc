package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bits-and-blooms/bitset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/ledger"
	"github.com/berth-project/berth/engine/program"
	"github.com/berth-project/berth/engine/suggest"
)

// maxHints is how many unknown references are reported with the nearest name. To find one takes a pass over all clusters.
const maxHints = 5

// UnknownReferences returns what a placement needs and no cluster in its reach has, as texts with the nearest name. It is empty while no
// cluster is in reach.
func UnknownReferences(s *fleet.Snapshot, p *program.Program) []string {
	found := lookUp(s, reachable(s, p.Key.Namespace, p.ClusterSets, incumbentsOf(s, p.Key)), p)
	return found.texts("")
}

// UnknownNames returns the names of clusters that a placement lists beside others and that no cluster in its reach has, as texts with the
// nearest name: a cluster that joins later may be meant, or a name is mistyped. They are not misconfigured.
func UnknownNames(s *fleet.Snapshot, p *program.Program) []string {
	of := unknownReferences{snapshot: s, scope: reachable(s, p.Key.Namespace, p.ClusterSets, incumbentsOf(s, p.Key))}
	if of.scope.candidates.None() || len(of.scope.unreadable) > 0 {
		return nil
	}
	missing, have := map[string][]string{}, of.clusterNames()
	for _, reference := range p.References() {
		if reference.Source == fleet.Name && of.known(reference) {
			missing[reference.Plugin] = append(missing[reference.Plugin], slices.DeleteFunc(slices.Clone(reference.Names), of.reaches)...)
		}
	}
	var out []string
	for _, plugin := range slices.Sorted(maps.Keys(missing)) {
		names := slices.Compact(slices.Sorted(slices.Values(missing[plugin])))
		for i, name := range names {
			if i == maxHints {
				out = append(out, fmt.Sprintf("%s:no cluster in reach has %d other names of the list", plugin, len(names)-i))
				break
			}
			text := fmt.Sprintf("%s:no cluster in reach has the name %q", plugin, name)
			if near := suggest.Nearest(name, have); near != "" {
				text += fmt.Sprintf(" (one is %q)", near)
			}
			out = append(out, text)
		}
	}
	return out
}

// AnyKnown reports whether a cluster in reach of a placement has what one of some references names. p is nil for a placement that is gone.
func AnyKnown(s *fleet.Snapshot, p *program.Program, references []program.Reference) bool {
	if p == nil {
		return false
	}
	of := unknownReferences{snapshot: s, scope: reachable(s, p.Key.Namespace, p.ClusterSets, incumbentsOf(s, p.Key))}
	return slices.ContainsFunc(references, of.known)
}

// unknownReferences are references of a program to what no cluster in reach has.
type unknownReferences struct {
	snapshot *fleet.Snapshot
	scope    scope
	unknown  []program.Reference
}

// lookUp looks up what a program needs among the clusters in reach.
func lookUp(s *fleet.Snapshot, reach scope, p *program.Program) unknownReferences {
	out, seen := unknownReferences{snapshot: s, scope: reach}, map[string]bool{}
	for _, reference := range p.References() {
		identity := reference.Identity()
		if !seen[identity] && !out.known(reference) {
			out.unknown = append(out.unknown, reference)
		}
		seen[identity] = true
	}
	return out
}

// known reports whether a set is bound and exists, or a cluster in reach has a label, claim, name or score.
func (u *unknownReferences) known(of program.Reference) bool {
	reach := u.scope.candidates
	switch {
	case of.Set != "":
		return slices.Contains(u.scope.valid, of.Set) || len(u.scope.valid) == 0
	case reach.None() || len(u.scope.unreadable) > 0:
		return true
	case of.Source == fleet.Name:
		return slices.ContainsFunc(of.Names, u.reaches)
	case of.Resource != "":
		for id := range reach.EachSet() {
			if slices.Contains(u.snapshot.ScoreNames(id, of.Resource), of.Score) {
				return true
			}
		}
		return false
	default:
		for id := range u.snapshot.ClustersWith(fleet.TermKey(of.Source, of.Key)).All() {
			if reach.Test(id) {
				return true
			}
		}
		return false
	}
}

// reaches reports whether a cluster in reach has a name.
func (u *unknownReferences) reaches(name string) bool {
	id, exists := u.snapshot.ID(name)
	return exists && u.scope.candidates.Test(id)
}

// clusterNames returns the names of the clusters in reach.
func (u *unknownReferences) clusterNames() []string {
	var out []string
	for id := range u.scope.candidates.EachSet() {
		out = append(out, u.snapshot.Name(id))
	}
	return out
}

// texts returns the references as users read them. What was known of the nearest name when the edit was judged stays as it was.
func (u *unknownReferences) texts(judged string) []string {
	var out []string
	for i, of := range u.unknown {
		text := of.Text()
		if before, known := hintBefore(judged, text); known {
			out = append(out, text+before)
			continue
		}
		if i < maxHints {
			text += u.hint(of)
		}
		out = append(out, text)
	}
	return out
}

// retainJudged drops what an earlier message about the same spec does not name: it went later.
func (u *unknownReferences) retainJudged(message string) {
	if message != "" {
		u.unknown = slices.DeleteFunc(u.unknown, func(of program.Reference) bool { return !strings.Contains(message, of.Text()) })
	}
}

// hintBefore returns what follows a text in an earlier message, in parentheses; empty for nothing. Ok is false if the message lacks
// the text.
func hintBefore(message, text string) (hint string, ok bool) {
	_, after, found := strings.Cut(message, text)
	if !found || !strings.HasPrefix(after, " (") {
		return "", found
	}
	inside, _, closed := strings.Cut(after, ")")
	return inside + ")", closed
}

// hint returns the nearest name that exists, in parentheses; empty without one.
func (u *unknownReferences) hint(of program.Reference) string {
	switch {
	case of.Set != "":
		if near := suggest.Nearest(of.Set, u.scope.valid); near != "" {
			return fmt.Sprintf(" (%q is)", near)
		}
		return ""
	case of.Source == fleet.Name:
		return ""
	case of.Resource != "":
		return nearest(of.Resource+"/"+of.Score, u.scores())
	default:
		return nearest(of.Key, u.keys(of.Source))
	}
}

// nearest returns the nearest key that clusters have, with their number, in parentheses.
func nearest(key string, have map[string]int) string {
	near := suggest.Nearest(key, slices.Sorted(maps.Keys(have)))
	if near == "" {
		return ""
	}
	return fmt.Sprintf(" (%d have %q)", have[near], near)
}

// keys counts the clusters in reach by the labels or claims that they have.
func (u *unknownReferences) keys(source fleet.Source) map[string]int {
	out := map[string]int{}
	for id := range u.scope.candidates.EachSet() {
		for key := range u.snapshot.Cluster(id).Keys(source) {
			out[key]++
		}
	}
	return out
}

// scores counts the clusters in reach by the scores that they have, as resource/score.
func (u *unknownReferences) scores() map[string]int {
	out := map[string]int{}
	for id := range u.scope.candidates.EachSet() {
		for resource, names := range u.snapshot.AllScoreNames(id) {
			for _, name := range names {
				out[resource+"/"+name]++
			}
		}
	}
	return out
}

// reportReferences reports references of an edit to what no cluster in reach has. Where clusters would leave because of them, the
// placement is misconfigured, and what is selected stays. An edit is recognised from what is stored: the last decision was made for
// another spec. What goes later, under the same spec, is no mistake of the edit.
func reportReferences(decided *Result, past ledger.Ledger) *Result {
	t := decided.Trace
	if !decided.Decided || past.SameSpec && past.UnknownReferences == "" {
		return decided
	}
	found := lookUp(t.Snapshot, t.scope, t.Program)
	found.retainJudged(past.UnknownReferences)
	if len(found.unknown) == 0 {
		return keepHeldReference(decided, past)
	}
	problem := strings.Join(found.texts(past.UnknownReferences), "; ")
	if t.holdsReferences(past) && t.losesBy(found.unknown, past) {
		return holdReferences(decided, problem, found.unknown)
	}
	out := *decided
	if out.Misconfigured.Status == metav1.ConditionTrue {
		problem = out.Misconfigured.Message + "; " + problem
	}
	out.Misconfigured = misconfigured(problem)
	out.Misconfigured.Reason, out.Unknown = clusterv1beta1.ReasonUnknownReference, found.unknown
	return &out
}

// keepHeldReference holds an edit that was held, while the grace after a start lasts: nothing is unknown where no cluster is in reach, as
// while the set is withdrawn for a moment.
func keepHeldReference(decided *Result, past ledger.Ledger) *Result {
	s := decided.Trace.Snapshot
	if !past.ReferenceHeld || decided.Trace.scope.candidates.Any() || !s.Now.Before(s.Retention.Until) {
		return decided
	}
	out := keepDecisions(s, decided.Key, past.UnknownReferences)
	out.Misconfigured.Reason = clusterv1beta1.ReasonReferenceHeld
	out.recheckBy(s.Retention.Until)
	return out
}

// holdsReferences reports whether an edit is held that names what no cluster in reach has.
func (t *Trace) holdsReferences(past ledger.Ledger) bool {
	return t.Snapshot.Rules.HoldUnknownReferences && !past.SameSpec && !past.ReferencesConfirmed && !past.Confirmed
}

// holdReferences returns the result that keeps what is selected.
func holdReferences(decided *Result, problem string, unknown []program.Reference) *Result {
	key := decided.Key
	out := keepDecisions(decided.Trace.Snapshot, key, problem)
	out.Unknown, out.Misconfigured.Reason = unknown, clusterv1beta1.ReasonReferenceHeld
	out.Misconfigured.Message = truncated(fmt.Sprintf("%s. The %d selected ManagedClusters stay until a cluster has it or the spec changes. "+
		"To follow the spec: kubectl berth holds release placement/%s -n %s --hold Reference --reason WHY",
		problem, out.Selected, key.Name, key.Namespace))
	if at := decided.RecheckAt; !at.IsZero() {
		out.recheckBy(at)
	}
	return out
}

// losesBy reports whether a selected cluster leaves that would stay without some references.
func (t *Trace) losesBy(unknown []program.Reference, past ledger.Ledger) bool {
	lost := t.lost()
	if lost.None() {
		return false
	}
	past.Braked = past.BrakedBefore // they leave because of the references, not because of what the brake has stopped
	without := Schedule(t.Snapshot, t.Program.Without(unknown), past)
	return !without.Decided || lost.Difference(without.Trace.lost()).Any()
}

// chosen returns the chosen clusters.
func (t *Trace) chosen() *bitset.BitSet {
	out := &bitset.BitSet{}
	for _, id := range t.Ranking.Chosen {
		out.Set(id)
	}
	return out
}

// lost returns the selected clusters that leave, or would leave without a disruption policy.
func (t *Trace) lost() *bitset.BitSet {
	out := incumbentsOf(t.Snapshot, t.Program.Key)
	for _, id := range t.Ranking.Chosen {
		if _, held := t.Ranking.Held(id); !held {
			out.Clear(id)
		}
	}
	return out
}
