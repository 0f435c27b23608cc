package rollouts

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/delivery/report"
	"github.com/berth-project/berth/rollout"
)

// maxListed is how many clusters a table lists.
const maxListed = 20

// PrintTable writes the report for a screen: the clusters that have not succeeded, or with all every cluster.
func PrintTable(w io.Writer, r *report.Report, screen printer.Screen, now time.Time, all bool) error {
	head := printer.NewTable(w, "")
	head.Screen = screen
	head.Row("set", r.Set)
	head.Row("rollout", cmp.Or(r.Phase, "not planned yet"))
	head.Row("clusters", fmt.Sprintf("%d selected, %d with the present template, %d applied", r.Summary.DesiredTotal, r.Summary.Updated,
		r.Summary.Applied))
	head.Row("objects", fmt.Sprintf("%d available, %d changing, %d failing", r.Summary.Available, r.Summary.Progressing, r.Summary.Degraded))
	if err := head.Flush(); err != nil {
		return err //nolint:wrapcheck // the error of the writer
	}
	if err := printDecisions(w, r, screen); err != nil {
		return err
	}
	for _, text := range slices.DeleteFunc([]string{r.Message, r.Unwritten}, func(text string) bool { return text == "" }) {
		for _, line := range printer.Wrap(text, max(screen.Width, minMessageWidth)) {
			printer.Printf(w, "%s\n", line)
		}
	}
	printer.Printf(w, "\n")
	placements := printer.NewTable(w, "")
	placements.Screen = screen
	placements.Row("PLACEMENT", "STRATEGY", "UPDATED", "PHASE")
	for _, p := range r.Placements {
		placements.Row(p.Name, string(p.Strategy), fmt.Sprintf("%d of %d", p.Updated, p.Total()), phaseOf(&p))
	}
	if err := placements.Flush(); err != nil {
		return err //nolint:wrapcheck // the error of the writer
	}
	rows, more := listedClusters(r, all)
	printLost(w, r, screen, rows)
	return printClusters(w, rows, more, screen, now)
}

// phaseOf returns the phase of a placement for a table: Paused for a paused rollout, unless the rollout has ended or cannot start anyway.
func phaseOf(p *report.Placement) string {
	switch rollout.Phase(p.Phase) {
	case rollout.PhaseFinished, rollout.PhaseBreached, rollout.PhaseFailed, rollout.PhaseUndecided, rollout.PhaseMisconfigured:
		return p.Phase
	default:
		if p.Paused {
			return string(rollout.PhasePaused)
		}
		return cmp.Or(p.Phase, printer.Dash)
	}
}

// printDecisions writes what people decided about the rollout.
func printDecisions(w io.Writer, r *report.Report, screen printer.Screen) error {
	if r.Decisions == nil {
		return nil
	}
	table := printer.NewTable(w, "")
	table.Screen = screen
	row := func(what, subject, by, why string) {
		table.Row(what, subject, "by "+cmp.Or(by, "a user without a name"), why)
	}
	if r.Decisions.Paused {
		row("paused", "all placements", r.Decisions.PausedBy, r.Decisions.PauseReason)
	}
	if now := r.Decisions.ReturnNow; now != nil {
		row("returns", "at once", now.By, now.Reason)
	}
	if start := r.Decisions.WithoutFormer; start != nil {
		row("starts", "without a way back", start.By, start.Reason)
	}
	if finish := r.Decisions.WithoutMissing; finish != nil {
		row("finishes", "without missing clusters", finish.By, finish.Reason)
	}
	for _, one := range listed(r.Decisions.Approvals) {
		row("approved", rollout.Reference(one.MandatoryDecisionGroup)+" of "+one.Placement, one.By, one.Reason)
	}
	for _, one := range listed(r.Decisions.Forgiven) {
		row("forgiven", one.Cluster, one.By, one.Reason)
	}
	if more := len(r.Decisions.Approvals) + len(r.Decisions.Forgiven) - len(listed(r.Decisions.Approvals)) -
		len(listed(r.Decisions.Forgiven)); more > 0 {
		table.Row("and", strconv.Itoa(more)+" more", "", "")
	}
	return table.Flush() //nolint:wrapcheck // the error of the writer
}

// listed returns the part of a list that a table lists.
func listed[T any](all []T) []T { return all[:min(len(all), maxListed)] }

// minMessageWidth is where a message is wrapped if the screen has no edge or is narrow.
const minMessageWidth = 80

// listedClusters returns the clusters that a table lists, and counts the others that have not succeeded.
func listedClusters(r *report.Report, all bool) (rows []report.Cluster, more int) {
	if all {
		return r.Clusters, 0
	}
	for _, c := range r.Clusters {
		switch {
		case c.Code == rollout.Done:
		case len(rows) == maxListed:
			more++
		default:
			rows = append(rows, c)
		}
	}
	return rows, more
}

func printClusters(w io.Writer, rows []report.Cluster, more int, screen printer.Screen, now time.Time) error {
	if len(rows) == 0 {
		return nil
	}
	const whyColumn = 4
	table := printer.NewTable(w, "")
	table.Screen, table.Flexible, table.Optional = screen, []int{whyColumn}, []int{1}
	table.Row("CLUSTER", "PLACEMENT", "STATE", "SINCE", "WHY")
	for _, c := range rows {
		state, why := string(c.State), cmp.Or(c.Message, string(c.Code))
		if c.Unknown != "" {
			state, why = string(metav1.ConditionUnknown), strings.TrimPrefix(c.Message+"; "+c.Unknown, "; ")
		}
		table.Row(c.Cluster, cmp.Or(c.Placement, printer.Dash), state, printer.Age(c.Since, now), why)
	}
	printer.Printf(w, "\n")
	if err := table.Flush(); err != nil {
		return err //nolint:wrapcheck // the error of the writer
	}
	if more > 0 {
		printer.Printf(w, "and %d more that have not succeeded; --all lists every cluster\n", more)
	}
	return nil
}
