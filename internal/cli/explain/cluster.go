package explain

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/kube/phrase"
)

// clusterReport writes the facts about one cluster, one line each.
type clusterReport struct{ printer.Facts }

// printClusterReport writes everything about the one cluster of an explanation.
func printClusterReport(w io.Writer, of *explain.Explanation, on printer.Screen) error {
	c := &of.Clusters[0]
	s := clusterReport{printer.NewFacts(w, on)}
	if of.Stale != "" {
		for _, line := range printer.Wrap("Stale: "+of.Stale, on.LineWidth()) {
			printer.Printf(w, "%s\n", on.Paint(printer.StyleWarning, line))
		}
	}
	printer.Printf(w, "%s in %s: %s\n", c.Name, of.Key(), on.Paint(printer.VerdictStyle(c.Verdict), c.Verdict))
	printReplayed(w, of)
	if !of.Decided {
		fmt.Fprintln(w, "  Nothing was decided: what was selected before stays.")
	}
	if c.Outranked == nil {
		s.Field("why", c.Why)
	}
	s.filters(c)
	if err := s.scores(w, c, on); err != nil {
		return err
	}
	s.ranking(of, c)
	if c.Fix != nil {
		s.Styled("fix", c.Fix.String(), printer.StyleGood)
	}
	return nil
}

// filters writes the results before any score: sets, predicates, tier and taints.
func (r clusterReport) filters(c *explain.Cluster) {
	r.Field("sets", cmp.Or(strings.Join(c.Sets, ", "), "none that the placement may choose from"))
	for _, clause := range c.Clauses {
		r.Field(fmt.Sprintf("predicate %d", clause.Predicate), clauseText(clause))
	}
	r.Field("tier", c.Tier)
	if c.Taint != nil {
		r.Field("taint", taintText(c.Taint))
		r.Field("nearest", cmp.Or(c.Taint.Nearest, "no toleration is for its key"))
	}
	if c.Penalized {
		r.Field("taint", "a PreferNoSelect taint that is not tolerated puts it after all without one")
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
func (r clusterReport) scores(w io.Writer, c *explain.Cluster, on printer.Screen) error {
	if len(c.Scores) == 0 {
		return nil
	}
	table := printer.NewTable(w, "    ")
	table.Screen, table.Flexible = on, []int{1}
	r.Field("scores", fmt.Sprintf("%d in all", c.Total))
	table.Row("PRIORITIZER", "SEEN", "VALUE", "WEIGHT", "POINTS")
	for _, score := range c.Scores {
		table.Row(score.Prioritizer, score.Raw, fmt.Sprint(score.Value), fmt.Sprint(score.Weight), fmt.Sprint(score.Value*score.Weight))
	}
	return table.Flush()
}

// ranking writes the results after the scores: rank, constraint and waiting time.
func (r clusterReport) ranking(of *explain.Explanation, c *explain.Cluster) {
	if c.Rank > 0 {
		text := fmt.Sprint(c.Rank)
		if of.Cut != nil && of.Cut.Cluster != c.Name {
			text += fmt.Sprintf("; the cut is %s, rank %d with %s", of.Cut.Cluster, of.Cut.Rank, phrase.Count(int(of.Cut.Total), "point"))
		}
		r.Field("rank", text)
	}
	r.Field("beaten", c.Shortfall())
	if in := c.Constraint; in != nil {
		r.Field("constraint", in.Text)
		r.Field("domain", cmp.Or(in.Domain, "none"))
		r.Field("held by", in.By)
	}
	if c.Underlying != "" {
		r.Field("would be", c.Underlying)
	}
	if c.Until != nil {
		r.Field("until", c.Until.Format(time.RFC3339))
	}
	if c.Group != nil {
		r.Field("group", strings.TrimPrefix(c.Group.String(), "group "))
	}
}
