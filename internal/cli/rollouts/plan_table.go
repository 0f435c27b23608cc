package rollouts

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/kube/phrase"
)

// Print writes a plan as a table. The waves fit the screen; the zero Screen has no edge.
func (p *Plan) Print(w io.Writer, on printer.Screen) error {
	printer.Printf(w, "%s: %s, %s in %s", p.Placement, p.Type, phrase.Count(p.Clusters, "cluster"), phrase.Count(p.Groups, "group"))
	if p.Type == clusterv1alpha1.Progressive {
		fmt.Fprintf(w, ", at most %d at a time", p.MaxConcurrency)
	}
	fmt.Fprintln(w)
	for _, remark := range p.Remarks {
		printer.Printf(w, "  %s\n", remark)
	}
	table := printer.NewTable(w, "  ")
	switch {
	case p.Next != nil:
		p.nextRows(w, table)
	case p.Timeline != nil:
		p.timelineRows(table)
	default:
		p.waveRows(table, on)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if p.Outcome != "" {
		printer.Printf(w, "%s\n", p.Outcome)
	}
	return nil
}

func (p *Plan) waveRows(table *printer.Table, on printer.Screen) {
	const groupsColumn, clustersColumn = 2, 4
	table.Screen, table.Flexible = on, []int{groupsColumn, clustersColumn}
	table.Row("WAVE", "COUNT", "GROUPS", "NEEDS-APPROVAL", "CLUSTERS")
	for i, wave := range p.Waves {
		table.Row(strconv.Itoa(i+1), strconv.Itoa(len(wave.Clusters)), phrase.Join(wave.Groups, phrase.MaxNames),
			cmp.Or(phrase.Join(wave.NeedsApproval, phrase.MaxNames), printer.Dash),
			phrase.Join(wave.Clusters, printer.MaxMembers))
	}
}

func (p *Plan) nextRows(w io.Writer, table *printer.Table) {
	printer.Printf(w, "  %s: %s\n", p.Next.Phase, p.Next.Message)
	if p.Next.Until != nil {
		fmt.Fprintf(w, "  look again at %s\n", printer.FormatTime(p.Next.Until.Time))
	}
	table.Row("CODE", "COUNT", "WHY", "UNTIL", "CLUSTERS")
	for _, row := range p.Next.Verdicts {
		until := printer.Dash
		if row.Until != nil {
			until = printer.FormatTime(row.Until.Time)
		}
		table.Row(string(row.Code), strconv.Itoa(len(row.Clusters)), row.Why, until, phrase.Join(row.Clusters, printer.MaxMembers))
	}
}

func (p *Plan) timelineRows(table *printer.Table) {
	table.Row("AFTER", "PHASE", "UNDER-WAY", "STARTED", "SUCCEEDED", "FAILED", "LOST", "TIMED-OUT")
	for _, row := range p.Timeline {
		table.Row(row.After, string(row.Phase), strconv.Itoa(row.UnderWay),
			countAndNames(row.Started), countAndNames(row.Succeeded), countAndNames(row.Failed), countAndNames(row.Lost),
			countAndNames(row.TimedOut))
	}
}

// countAndNames returns how many clusters there are, and the first of them.
func countAndNames(clusters []string) string {
	if len(clusters) == 0 {
		return printer.Dash
	}
	return strings.Join([]string{strconv.Itoa(len(clusters)), phrase.Join(clusters, phrase.MaxNames)}, ": ")
}
