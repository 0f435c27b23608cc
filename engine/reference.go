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

// UnknownReferences returns what a placement needs and no cluster in its reach has, as texts with the nearest name. It is empty while no
// cluster is in reach.
func UnknownReferences(s *fleet.Snapshot, p *program.Program) []string {
	found := lookUp(s, reachable(s, p.Key.Namespace, p.ClusterSets, incumbentsOf(s, p.Key)), p)
	return found.texts("")
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
	out := unknownReferences{snapshot: s, scope: reach}
	for _, reference := range p.References() {
		if !out.known(reference) && !slices.ContainsFunc(out.unknown, reference.Equal) {
			out.unknown = append(out.unknown, reference)
		}
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
		return slices.ContainsFunc(of.Names, func(name string) bool {
			id, exists := u.snapshot.ID(name)
			return exists && reach.Test(id)
		})
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

// texts returns the references as users read them. What was known of the nearest name when the edit was judged stays as it was.
func (u *unknownReferences) texts(judged string) []string {
	var out []string
	for _, of := range u.unknown {
		text := textOf(of)
		if before, known := hintBefore(judged, text); known {
			out = append(out, text+before)
			continue
		}
		out = append(out, text+u.hint(of))
	}
	return out
}

// retainJudged drops what an earlier message about the same spec does not name: it went later.
func (u *unknownReferences) retainJudged(message string) {
	if message != "" {
		u.unknown = slices.DeleteFunc(u.unknown, func(of program.Reference) bool { return !strings.Contains(message, textOf(of)) })
	}
}

// hintBefore returns what follows a text in an earlier message, in parentheses; empty for nothing. Ok is false if the message lacks the text.
func hintBefore(message, text string) (hint string, ok bool) {
	_, after, found := strings.Cut(message, text)
	if !found || !strings.HasPrefix(after, " (") {
		return "", found
	}
	inside, _, closed := strings.Cut(after, ")")
	return inside + ")", closed
}

// textOf returns a reference as users read it, after the part of the placement to blame.
func textOf(of program.Reference) string {
	switch {
	case of.Set != "":
		return fmt.Sprintf("%s:no ManagedClusterSet %q is bound to the namespace", of.Plugin, of.Set)
	case of.Source == fleet.Name:
		return fmt.Sprintf("%s:no cluster in reach has one of the %d names, such as %q", of.Plugin, len(of.Names), of.Names[0])
	case of.Resource != "":
		return fmt.Sprintf("%s:no cluster in reach has the score %q in an AddOnPlacementScore %q", of.Plugin, of.Score, of.Resource)
	default:
		return fmt.Sprintf("%s:no cluster in reach has the %s %q", of.Plugin, of.Source, of.Key)
	}
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

// reportReferences reports references of an edit to what no cluster in reach has. Where clusters would leave because of them, the edit is
// misconfigured, and what is selected stays. An edit is recognised from what is stored: the last decision was made for another spec. What goes
// later, under the same spec, is no mistake of the edit.
func reportReferences(decided *Result, past ledger.Ledger) *Result {
	t := decided.Trace
	if !decided.Decided || past.SameSpec && past.UnknownReferences == "" {
		return decided
	}
	found := lookUp(t.Snapshot, t.scope, t.Program)
	found.retainJudged(past.UnknownReferences)
	if len(found.unknown) == 0 {
		return decided
	}
	problem := strings.Join(found.texts(past.UnknownReferences), "; ")
	if !past.SameSpec && !past.ReferencesConfirmed && !past.Confirmed && t.Snapshot.Rules.HoldUnknownReferences && t.losesBy(found.unknown, past) {
		out, key := keepDecisions(t.Snapshot, decided.Key, problem), decided.Key
		out.Misconfigured.Reason = clusterv1beta1.ReasonReferenceHeld
		out.Misconfigured.Message = truncated(fmt.Sprintf("%s. The %d selected ManagedClusters stay until a cluster has it or the spec changes. To follow "+
			"the spec: kubectl berth holds release placement/%s -n %s --hold Reference --reason WHY", problem, out.Selected, key.Name, key.Namespace))
		if !decided.RecheckAt.IsZero() && (out.RecheckAt.IsZero() || decided.RecheckAt.Before(out.RecheckAt)) {
			out.RecheckAt = decided.RecheckAt
		}
		out.Unknown = found.unknown
		return out
	}
	out := *decided
	if out.Misconfigured.Status == metav1.ConditionTrue {
		problem = out.Misconfigured.Message + "; " + problem
	}
	out.Misconfigured = misconfigured(problem)
	out.Misconfigured.Reason, out.Unknown = clusterv1beta1.ReasonUnknownReference, found.unknown
	return &out
}

// losesBy reports whether a selected cluster leaves that would stay without some references.
func (t *Trace) losesBy(unknown []program.Reference, past ledger.Ledger) bool {
	lost := t.lost()
	if lost.None() {
		return false
	}
	without := Schedule(t.Snapshot, t.Program.Without(unknown), past)
	return !without.Decided || lost.Difference(without.Trace.lost()).Any()
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
