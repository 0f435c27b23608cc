package rollouts

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/delivery/report"
	"github.com/berth-project/berth/internal/kube/phrase"
	"github.com/berth-project/berth/rollout"
)

// row is the clusters with one reason.
type row struct {
	first    *report.Cluster
	clusters []string
	// since is when the first of them entered its state, until when the first of them leaves it.
	since, until *metav1.Time
}

// PrintExplanation writes what became of a set: its rollouts, and the clusters by reason, those first that fail.
func PrintExplanation(w io.Writer, r *report.Report, on printer.Screen, now time.Time) {
	PrintRollout(w, r, on, now)
	if len(r.Clusters) == 0 {
		return
	}
	printer.Printf(w, "\n")
	for _, line := range printer.Wrap("Add a CLUSTER for the full report on one cluster, or -o wide for a line for each.", on.LineWidth()) {
		printer.Printf(w, "%s\n", line)
	}
}

// PrintRollout does the same without the hint to further commands.
func PrintRollout(w io.Writer, r *report.Report, on printer.Screen, now time.Time) {
	printer.Printf(w, "%s: %s, %d of %s done\n", r.Set, on.Paint(phaseStyle(r.Phase), cmp.Or(r.Phase, "not planned yet")),
		r.Done(), phrase.Count(r.Summary.DesiredTotal, "cluster"))
	for _, placement := range r.Placements {
		printPlacement(w, &placement, on)
	}
	if len(r.Clusters)+r.Hidden > 0 {
		printer.Printf(w, "\n")
	}
	printClusterRows(w, r, on, now)
	printLost(w, r, on, r.Clusters)
}

// printLost names the clusters that were lost or left, with the reasons, unless their row among the listed clusters has the reason.
func printLost(w io.Writer, r *report.Report, on printer.Screen, listed []report.Cluster) {
	why := map[string]string{}
	for _, c := range listed {
		why[c.Cluster] = whyOf(&c)
	}
	for _, lost := range r.Lost {
		if strings.Contains(why[lost.Cluster], lost.Reason) {
			continue
		}
		for _, line := range printer.Wrap(fmt.Sprintf("%s: %s %s", lost.Phase, lost.Cluster, lost.Reason), on.LineWidth()) {
			printer.Printf(w, "%s\n", line)
		}
	}
}

func printPlacement(w io.Writer, p *report.Placement, on printer.Screen) {
	text := fmt.Sprintf("%s (%s): %s", p.Name, p.Strategy,
		cmp.Or(p.Message, fmt.Sprintf("%d of %d have the present template", p.Updated, p.Total())))
	for _, line := range printer.Wrap(text, on.LineWidth()-2) {
		printer.Printf(w, "  %s\n", line)
	}
	if p.Next != "" {
		for _, line := range printer.Wrap("next: "+p.Next, on.LineWidth()-4) {
			printer.Printf(w, "    %s\n", line)
		}
	}
}

// printClusterRows writes the clusters of a report by reason.
func printClusterRows(w io.Writer, r *report.Report, on printer.Screen, now time.Time) {
	for _, each := range rowsOf(r.Clusters) {
		each.print(w, on, now)
	}
	if r.Hidden > 0 {
		printer.Printf(w, "and %s that you may not see\n", phrase.Count(r.Hidden, "cluster"))
	}
}

// rowsOf groups clusters by reason.
func rowsOf(clusters []report.Cluster) []*row {
	var out []*row
	type reason struct {
		code       rollout.Code
		state      rollout.State
		text, next string
	}
	at := map[reason]*row{}
	for i := range clusters {
		c := &clusters[i]
		key := reason{c.Code, c.State, whyOf(c), c.Next}
		found := at[key]
		if found == nil {
			found = &row{first: c}
			at[key], out = found, append(out, found)
		}
		found.clusters = append(found.clusters, c.Cluster)
		found.since, found.until = earliest(found.since, c.Since), earliest(found.until, c.Until)
	}
	slices.SortStableFunc(out, func(a, b *row) int {
		return cmp.Or(cmp.Compare(rank(a.first.Code), rank(b.first.Code)), -cmp.Compare(len(a.clusters), len(b.clusters)))
	})
	return out
}

func earliest(a, b *metav1.Time) *metav1.Time {
	if a == nil || b != nil && b.Before(a) {
		return b
	}
	return a
}

// rank orders codes: what fails, what is under way, what waits, what is done.
func rank(code rollout.Code) int {
	order := []rollout.Code{rollout.Failing, rollout.TimedOut, rollout.UnderWay, rollout.Starting, rollout.Soaking}
	if at := slices.Index(order, code); at >= 0 {
		return at
	}
	if code == rollout.Done {
		return len(order) + len(rollout.Codes())
	}
	return len(order) + slices.Index(rollout.Codes(), code)
}

// whyOf returns why a cluster is where it is: what fails, else the message of its verdict.
func whyOf(c *report.Cluster) string {
	if c.Failure == nil || c.Failure.Manifest == "" {
		return c.Message
	}
	return c.Failure.Manifest + ": " + c.Failure.Message
}

// print writes a row: the code and the clusters, and the reason below.
func (r *row) print(w io.Writer, on printer.Screen, now time.Time) {
	head := string(r.first.Code)
	count := fmt.Sprintf("  %d  ", len(r.clusters))
	printer.Printf(w, "%s%s%s\n", on.Paint(codeStyle(r.first.Code), head), count,
		printer.FitNames(r.clusters, on.LineWidth()-len(head)-len(count)))
	if r.first.Code == rollout.Done {
		return
	}
	facts := printer.NewFacts(w, on)
	facts.Field("why", printer.Truncate(strings.Join(strings.Fields(whyOf(r.first)), " "), printer.MaxReason))
	facts.Field("since", span(r.since, r.until, now))
	facts.Field("next", nextOf(r.first))
}

// span renders since when something is, and until when at most.
func span(since, until *metav1.Time, now time.Time) string {
	out := ""
	if since != nil {
		out = fmt.Sprintf("%s (%s)", printer.FormatTime(since.Time), printer.Age(since, now))
	}
	if until != nil {
		out = strings.TrimPrefix(out+", until "+printer.FormatTime(until.Time), ", ")
	}
	return out
}

func nextOf(c *report.Cluster) string {
	if c.Retry == nil {
		return c.Next
	}
	return c.Next + " at " + printer.FormatTime(c.Retry.Time)
}

// PrintCluster writes everything about one cluster of a set.
func PrintCluster(w io.Writer, set string, c *report.Cluster, on printer.Screen, now time.Time) {
	printer.Printf(w, "%s in %s: %s\n", c.Cluster, set, on.Paint(codeStyle(c.Code), string(c.Code)))
	facts := printer.NewFacts(w, on)
	facts.Field("state", strings.TrimSuffix(shownState(c.State, c.Unknown)+", since "+span(c.Since, nil, now), ", since "))
	facts.Styled("unknown", c.Unknown, printer.StyleWarning)
	if c.Until != nil {
		facts.Field("until", printer.FormatTime(c.Until.Time))
	}
	facts.Field("placement", strings.TrimSuffix(c.Placement+", group "+c.Group, ", group "))
	if c.Work != "" {
		facts.Field("work", c.Cluster+"/"+c.Work)
	}
	printFailure(facts, c.Failure, now)
	if c.Failure == nil {
		facts.Field("why", c.Message)
	}
	facts.Styled("next", nextOf(c), printer.StyleGood)
}

func printFailure(facts printer.Facts, failure *report.Failure, now time.Time) {
	if failure == nil {
		return
	}
	facts.Field("manifest", failure.Manifest)
	condition := failure.Condition + " False"
	if failure.Condition == "Degraded" {
		condition = failure.Condition + " True"
	}
	if failure.Permanent {
		condition += ", and the same write fails again"
	}
	facts.Field("condition", strings.TrimSuffix(condition+", since "+span(failure.Since, nil, now), ", since "))
	facts.Styled("error", failure.Message, printer.StyleBad)
}

// shownState returns a state as a user reads it: that of a work whose agent does not report is of an earlier time.
func shownState(state rollout.State, unknown string) string {
	if unknown == "" {
		return string(state)
	}
	return "Unknown, before " + string(state)
}

// PrintWork writes everything about one work.
func PrintWork(w io.Writer, work *report.Work, on printer.Screen, now time.Time) error {
	printer.Printf(w, "%s/%s: %s\n", work.Cluster, work.Name, on.Paint(stateStyle(work.State), shownState(work.State, work.Unknown)))
	facts := printer.NewFacts(w, on)
	facts.Styled("unknown", work.Unknown, printer.StyleWarning)
	facts.Field("since", span(work.Since, nil, now))
	facts.Field("set", cmp.Or(work.Set, "none"))
	printFailure(facts, work.Failure, now)
	facts.Field("why", work.Message)
	facts.Styled("next", work.Next, printer.StyleGood)
	if len(work.Manifests) == 0 {
		return nil
	}
	const messageColumn = 3
	table := printer.NewTable(w, "  ")
	table.Screen, table.Flexible = on, []int{0, messageColumn}
	table.Row("OBJECT", "APPLIED", "AVAILABLE", "MESSAGE")
	for _, manifest := range work.Manifests {
		table.Row(manifest.Object, cmp.Or(string(manifest.Applied), printer.Dash), cmp.Or(string(manifest.Available), printer.Dash),
			cmp.Or(manifest.Message, printer.Dash))
	}
	return table.Flush() //nolint:wrapcheck // the error of the writer
}

func phaseStyle(phase string) printer.TextStyle {
	switch rollout.Phase(phase) {
	case rollout.PhaseFinished:
		return printer.StyleGood
	case rollout.PhaseBreached, rollout.PhaseMisconfigured:
		return printer.StyleBad
	case rollout.PhasePaused, rollout.PhaseUnapproved, rollout.PhaseUndecided:
		return printer.StyleWarning
	default:
		return printer.StylePlain
	}
}

func codeStyle(code rollout.Code) printer.TextStyle {
	switch code {
	case rollout.Failing, rollout.TimedOut, rollout.WaitsForRepair, rollout.WaitsForStrategy:
		return printer.StyleBad
	case rollout.Done:
		return printer.StyleGood
	case rollout.Starting, rollout.UnderWay, rollout.Soaking:
		return printer.StylePlain
	default:
		return printer.StyleWarning
	}
}

func stateStyle(state rollout.State) printer.TextStyle {
	switch state {
	case rollout.StateSucceeded:
		return printer.StyleGood
	case rollout.StateFailed, rollout.StateTimedOut:
		return printer.StyleBad
	default:
		return printer.StyleWarning
	}
}
