package change

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/verdict"
	"github.com/berth-project/berth/internal/cli/offline"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/cli/resource"
	"github.com/berth-project/berth/internal/kube/phrase"
)

// diffKind is the kind of what -o json prints.
const diffKind = "PlacementDiff"

// Report is what a change does to all placements.
type Report struct {
	Kind string `json:"kind"`
	// Moved counts the placements whose decisions move, Lost and Gained their clusters in all.
	Moved int `json:"moved"`
	// Misconfigured counts the placements that the change makes Misconfigured: they keep their clusters, and are not decided any more.
	Misconfigured int             `json:"misconfigured,omitempty"`
	Lost          int             `json:"lost"`
	Gained        int             `json:"gained"`
	Placements    []placementDiff `json:"placements"`
	// Held describes the edits of sets that are held, so that nothing moves by them, and those of placements that a hub may hold.
	Held []string `json:"held,omitempty"`
	// Braked describes the brakes that the change engages: too much would leave at once, and stays.
	Braked []string `json:"braked,omitempty"`
	// Partial is set if the caller may read only a part of the hub: Braked is by that part, without the brake of the whole hub.
	Partial bool `json:"partial,omitempty"`
	// Sequence is what happens where the files of the change are applied one after the other; absent if no placement is empty in between.
	Sequence *Sequence `json:"sequence,omitempty"`
	// WithoutEffect names the parts of the placements of the change that match nothing.
	WithoutEffect []string `json:"withoutEffect,omitempty"`
	// Away is what is lost while the objects of the change are deleted and not made anew yet; absent where they are applied.
	Away *Away `json:"away,omitempty"`
}

// placementDiff is what a change does to a placement.
type placementDiff struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Before and After are absent where there is no such placement.
	Before *placementSummary `json:"before,omitempty"`
	After  *placementSummary `json:"after,omitempty"`
	// Lost have the verdict after the change, Gained that before it; Regrouped are those in another group.
	Lost      []clusterDiff `json:"lost,omitempty"`
	Gained    []clusterDiff `json:"gained,omitempty"`
	Regrouped []clusterDiff `json:"regrouped,omitempty"`
}

// placementSummary is how a placement stands.
type placementSummary struct {
	Selected  int    `json:"selected"`
	Satisfied bool   `json:"satisfied"`
	Reason    string `json:"reason,omitempty"`
	// Misconfigured is why the placement is not decided; empty for a placement that is.
	Misconfigured string `json:"misconfigured,omitempty"`
}

// clusterDiff is what a change does to a cluster of a placement.
type clusterDiff struct {
	Cluster string `json:"cluster"`
	// From and To are the decision groups; absent where the cluster is not selected.
	From    string `json:"from,omitempty"`
	To      string `json:"to,omitempty"`
	Verdict string `json:"verdict,omitempty"`
	Why     string `json:"why,omitempty"`
}

// Compare returns what differs between two courses that have settled.
func Compare(before, after *Simulation) *Report {
	out := &Report{Kind: diffKind, Placements: []placementDiff{}, Held: after.held(before), Braked: after.braked(before)}
	all := maps.Clone(before.placements)
	maps.Copy(all, after.placements)
	for _, key := range slices.SortedFunc(maps.Keys(all), fleet.Key.Compare) {
		if before.placements[key] == after.placements[key] {
			continue
		}
		found := comparePlacement(before, after, key)
		if found.breaks() {
			out.Misconfigured++
		}
		if moved := len(found.Lost) + len(found.Gained) + len(found.Regrouped); moved > 0 {
			out.Moved++
		} else if found.Before != nil && found.After != nil && *found.Before == *found.After {
			continue
		}
		out.Lost, out.Gained = out.Lost+len(found.Lost), out.Gained+len(found.Gained)
		out.Placements = append(out.Placements, found)
	}
	return out
}

// breaks reports whether the change makes a placement Misconfigured, or gives a misconfigured placement another fault.
func (p placementDiff) breaks() bool {
	return p.After != nil && p.After.Misconfigured != "" && (p.Before == nil || p.Before.Misconfigured != p.After.Misconfigured)
}

// Refused reports whether a gate refuses the change: decisions move, also in between, a placement becomes Misconfigured, an edit is held or
// a brake engages.
func (r *Report) Refused() bool {
	return r.Moved+r.Misconfigured+len(r.Held)+len(r.Braked) > 0 || r.Sequence != nil || r.Away != nil && r.Away.Clusters > 0
}

func comparePlacement(before, after *Simulation, key fleet.Key) placementDiff {
	out := placementDiff{Namespace: key.Namespace, Name: key.Name, Before: before.status(key), After: after.status(key)}
	was, is := before.groupByCluster(key), after.groupByCluster(key)
	for _, name := range slices.Sorted(maps.Keys(was)) {
		switch to, stays := is[name]; {
		case !stays:
			out.Lost = append(out.Lost, clusterDiff{Cluster: name, From: was[name]})
		case to != was[name]:
			out.Regrouped = append(out.Regrouped, clusterDiff{Cluster: name, From: was[name], To: to})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(is)) {
		if _, stood := was[name]; !stood {
			out.Gained = append(out.Gained, clusterDiff{Cluster: name, To: is[name]})
		}
	}
	after.addReasons(key, out.Lost)
	before.addReasons(key, out.Gained)
	return out
}

// status returns the summary of a placement; nil for an unknown placement.
func (s *Simulation) status(key fleet.Key) *placementSummary {
	at := s.placements[key]
	if at == nil {
		return nil
	}
	out := &placementSummary{Selected: len(s.groupByCluster(key))}
	if found := meta.FindStatusCondition(at.placement.Status.Conditions, clusterv1beta1.PlacementConditionSatisfied); found != nil {
		out.Satisfied, out.Reason = found.Status == "True", found.Reason
	}
	found := meta.FindStatusCondition(at.placement.Status.Conditions, clusterv1beta1.PlacementConditionMisconfigured)
	if found != nil && found.Status == metav1.ConditionTrue {
		out.Misconfigured = found.Message
	}
	return out
}

// groupByCluster returns the group of each selected cluster.
func (s *Simulation) groupByCluster(key fleet.Key) map[string]string {
	out := map[string]string{}
	if s.placements[key] == nil {
		return out
	}
	for _, group := range resource.GroupsOf(s.placements[key].slices) {
		text := "group " + cmp.Or(group.Index, "?")
		if group.Name != "" {
			text += ", " + group.Name
		}
		for _, name := range group.Clusters {
			out[name] = text
		}
	}
	return out
}

// addReasons adds the reason why each cluster is not selected in this simulation. The evaluation repeats the last one,
// because no decision changes.
func (s *Simulation) addReasons(key fleet.Key, clusters []clusterDiff) {
	if len(clusters) == 0 {
		return
	}
	result := s.evaluate(key)
	for i := range clusters {
		clusters[i].Verdict, clusters[i].Why = s.reason(key, result, clusters[i].Cluster)
	}
}

func (s *Simulation) reason(key fleet.Key, result *engine.Result, cluster string) (code, why string) {
	id, known := s.snapshot.ID(cluster)
	switch {
	case s.placements[key] == nil:
		return "", "there is no such placement"
	case !known || s.snapshot.Cluster(id) == nil:
		return "", "there is no such cluster"
	case result == nil:
		return "", "the placement is not decided: " + offline.SkipReason(s.placements[key].placement)
	}
	found := result.Trace.VerdictWithoutRank(id)
	if found.Code == verdict.Outranked {
		found.Argument = verdict.Rank{Cut: result.Trace.Ranking.Cut}
	}
	return found.Code.String(), explain.Why(found)
}

// minWidth is where a fault is wrapped if the screen has no edge or is narrow.
const minWidth = 80

// Print writes each placement that the change does something to, and one line about all.
func Print(w io.Writer, of *Report, on printer.Screen) error {
	for _, p := range of.Placements {
		printer.Printf(w, "%s/%s: %s\n", p.Namespace, p.Name, p.Summary())
		if p.breaks() {
			for _, line := range printer.Wrap("Misconfigured: "+p.After.Misconfigured, max(on.Width, minWidth)) {
				printer.Printf(w, "  %s\n", line)
			}
		}
		for _, part := range p.Parts() {
			if err := printer.WriteVerdictRows(w, "  "+part.Sign+" ", part.Rows, on); err != nil {
				return err
			}
		}
		fmt.Fprintln(w)
	}
	broken := of.misconfigured()
	verb := "move"
	if of.Moved == 1 {
		verb = "moves"
	}
	if of.Moved == 0 {
		printer.Printf(w, "Nothing moves.%s\n", broken)
	} else {
		printer.Printf(w, "%s %s: %s lost, %d gained.%s\n",
			phrase.Count(of.Moved, "placement"), verb, phrase.Count(of.Lost, "cluster"), of.Gained, broken)
	}
	of.printNotes(w)
	if of.Sequence != nil {
		of.Sequence.Print(w)
	}
	if of.Away != nil && of.Away.Clusters > 0 {
		of.Away.Print(w)
	}
	return nil
}

// misconfigured returns what follows for the placements that become Misconfigured; empty without one.
func (r *Report) misconfigured() string {
	if r.Misconfigured == 0 {
		return ""
	}
	verb, stays := "become", ""
	if r.Misconfigured == 1 {
		verb = "becomes"
	}
	if slices.ContainsFunc(r.Placements, func(p placementDiff) bool { return p.breaks() && p.After.Selected > 0 }) {
		stays = "what runs stays, and "
	}
	return fmt.Sprintf(" %s %s misconfigured: %snothing is decided until that is mended.",
		phrase.Count(r.Misconfigured, "placement"), verb, stays)
}

// printNotes writes what stays though the change would move it, and what of the change has no effect.
func (r *Report) printNotes(w io.Writer) {
	for _, part := range r.Held {
		printer.Printf(w, "Held: %s.\n", part)
	}
	asFar := ""
	if r.Partial {
		asFar = ", as far as you can read the hub"
	}
	for _, part := range r.Braked {
		printer.Printf(w, "Braked%s: %s\n", asFar, part)
	}
	if len(r.Braked) > 0 {
		printer.Printf(w, "On a hub, as many as these shares may leave before the brake engages, if the change comes bit by bit.\n"+
			"With --brake=off the answer shows what leaves once the brake is released.\n")
	}
	for _, part := range r.WithoutEffect {
		printer.Printf(w, "Without effect: %s.\n", part)
	}
}

// Part is the clusters of a placement that move in one way, by reason.
type Part struct {
	// Sign is - for lost, + for gained and ~ for regrouped clusters.
	Sign string
	Rows []explain.Row
}

// Parts returns the clusters that move: the lost, the gained and the regrouped ones.
func (p placementDiff) Parts() []Part {
	return []Part{{"-", diffRows("-", p.Lost)}, {"+", diffRows("+", p.Gained)}, {"~", diffRows("~", p.Regrouped)}}
}

// Summary describes in one line the placement before and after.
func (p placementDiff) Summary() string {
	switch {
	case p.Before == nil:
		return fmt.Sprintf("new, %d selected, %s", p.After.Selected, p.After)
	case p.After == nil:
		return fmt.Sprintf("deleted, %d selected before", p.Before.Selected)
	case p.Before.Satisfied != p.After.Satisfied:
		return fmt.Sprintf("%d selected, %d before, now %s", p.After.Selected, p.Before.Selected, p.After)
	default:
		return fmt.Sprintf("%d selected, %d before, %s", p.After.Selected, p.Before.Selected, p.After)
	}
}

func (s placementSummary) String() string {
	if s.Satisfied {
		return "satisfied"
	}
	return fmt.Sprintf("not satisfied (%s)", cmp.Or(s.Reason, "never decided"))
}

// diffRows groups moves by verdict and reason, in the order of the first of each.
func diffRows(sign string, in []clusterDiff) []explain.Row {
	type group struct{ verdict, why string }
	at := map[group]int{}
	var out []explain.Row
	for _, move := range in {
		key := group{move.Verdict, move.Why}
		switch {
		case sign == "~":
			key = group{"Regrouped", move.From + " to " + move.To}
		case move.Verdict == "":
			key.verdict = map[string]string{"-": "Lost", "+": "New"}[sign]
		case sign == "+":
			key.verdict = "was " + move.Verdict
		}
		if _, known := at[key]; !known {
			at[key] = len(out)
			out = append(out, explain.Row{Verdict: key.verdict, Why: key.why})
		}
		row := &out[at[key]]
		row.Clusters = append(row.Clusters, &explain.Cluster{Name: move.Cluster})
	}
	return out
}
