package cli

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/internal/cli/printer"
)

// maxLabel is how wide the names of the facts of a story are.
const maxLabel = 11

// clusterReport writes the facts about one cluster, one line each.
type clusterReport struct {
	w     io.Writer
	width int
}

// printClusterReport writes everything about the one cluster of an explanation.
func printClusterReport(w io.Writer, of *explain.Explanation, on printer.Screen) error {
	c := &of.Clusters[0]
	s := clusterReport{w, max(printer.MinLineWidth, cmp.Or(on.Width, printer.DefaultWidth)-maxLabel-4)}
	if of.Stale != "" {
		for _, line := range printer.Wrap("Stale: "+of.Stale, s.width+maxLabel+4) {
			printer.Printf(w, "%s\n", on.Paint(printer.StyleWarning, line))
		}
	}
	printer.Printf(w, "%s in %s: %s\n", c.Name, of.Key(), on.Paint(printer.VerdictStyle(c.Verdict), c.Verdict))
	printReplayed(w, of)
	if !of.Decided {
		fmt.Fprintln(w, "  Nothing was decided: what was selected before stays.")
	}
	if c.Outranked == nil {
		s.field("why", c.Why)
	}
	s.filters(c)
	if err := s.scores(w, c, on); err != nil {
		return err
	}
	s.ranking(of, c)
	if c.Fix != nil {
		s.paintedField("fix", c.Fix.String(), func(line string) printer.Painted { return on.Paint(printer.StyleGood, line) })
	}
	return nil
}

// field writes a labelled fact; nothing for an empty text.
func (s clusterReport) field(label, text string) {
	s.paintedField(label, text, printer.StylePlain.Paint)
}

// paintedField does the same with each line painted.
func (s clusterReport) paintedField(label, text string, line func(string) printer.Painted) {
	if text == "" {
		return
	}
	for _, one := range printer.Wrap(text, s.width) {
		printer.Printf(s.w, "  %-*s  %s\n", maxLabel, label, line(one))
		label = ""
	}
}

// filters writes the results before any score: sets, predicates, tier and taints.
func (s clusterReport) filters(c *explain.Cluster) {
	s.field("sets", cmp.Or(strings.Join(c.Sets, ", "), "none that the placement may choose from"))
	for _, clause := range c.Clauses {
		s.field(fmt.Sprintf("predicate %d", clause.Predicate), clauseText(clause))
	}
	s.field("tier", c.Tier)
	if c.Taint != nil {
		s.field("taint", taintText(c.Taint))
		s.field("nearest", cmp.Or(c.Taint.Nearest, "no toleration is for its key"))
	}
	if c.Penalized {
		s.field("taint", "a PreferNoSelect taint that is not tolerated puts it after all without one")
	}
}

func clauseText(in explain.Clause) string {
	switch {
	case in.Problem != "":
		return in.Text + ": " + in.Problem
	case in.Lacks:
		return "not " + in.Text + ", it has none"
	case in.Has != "":
		return "not " + in.Text + ", it has " + in.Has
	default:
		return "not " + in.Text
	}
}

func taintText(in *explain.Taint) string {
	text := in.Text
	if in.Since != nil {
		text += ", since " + in.Since.Format(time.RFC3339)
	}
	if in.ExpiredAt != nil {
		text += ", tolerated until " + in.ExpiredAt.Format(time.RFC3339)
	}
	return text
}

// scores writes the score of each prioritizer.
func (s clusterReport) scores(w io.Writer, c *explain.Cluster, on printer.Screen) error {
	if len(c.Scores) == 0 {
		return nil
	}
	table := printer.NewTable(w, "    ")
	table.Screen, table.Flexible = on, []int{1}
	s.field("scores", fmt.Sprintf("%d in all", c.Total))
	table.Row("PRIORITIZER", "SEEN", "VALUE", "WEIGHT", "POINTS")
	for _, score := range c.Scores {
		table.Row(score.Prioritizer, score.Raw, fmt.Sprint(score.Value), fmt.Sprint(score.Weight), fmt.Sprint(score.Value*score.Weight))
	}
	return table.Flush()
}

// ranking writes the results after the scores: rank, constraint and waiting time.
func (s clusterReport) ranking(of *explain.Explanation, c *explain.Cluster) {
	if c.Rank > 0 {
		text := fmt.Sprint(c.Rank)
		if of.Cut != nil && of.Cut.Cluster != c.Name {
			text += fmt.Sprintf("; the cut is %s, rank %d with %s", of.Cut.Cluster, of.Cut.Rank, printer.Count(int(of.Cut.Total), "point"))
		}
		s.field("rank", text)
	}
	s.field("beaten", c.Shortfall())
	if in := c.Constraint; in != nil {
		s.field("constraint", in.Text)
		s.field("domain", cmp.Or(in.Domain, "none"))
		s.field("held by", in.By)
	}
	if c.Underlying != "" {
		s.field("would be", c.Underlying)
	}
	if c.Until != nil {
		s.field("until", c.Until.Format(time.RFC3339))
	}
	if c.Group != nil {
		s.field("group", strings.TrimPrefix(c.Group.String(), "group "))
	}
}
