package cli

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/berth-project/berth/engine/explain"
)

// maxLabel is how wide the names of the facts of a story are.
const maxLabel = 11

// story is the facts about one cluster, written line by line.
type story struct {
	w     io.Writer
	width int
}

// tellCluster writes the whole story of the one cluster of an explanation.
func tellCluster(w io.Writer, of *explain.Explanation, on screen) error {
	c := &of.Clusters[0]
	s := story{w, max(narrow, cmp.Or(on.width, defaultWidth)-maxLabel-4)}
	if of.Stale != "" {
		for _, line := range wrapped("Stale: "+of.Stale, s.width+maxLabel+4) {
			printf(w, "%s\n", on.paint(doubtful, line))
		}
	}
	printf(w, "%s in %s: %s\n", c.Name, of.Key(), on.paint(verdictTone(c.Verdict), c.Verdict))
	tellReplayed(w, of)
	if !of.Decided {
		fmt.Fprintln(w, "  Nothing was decided: what was selected before stays.")
	}
	if c.Beaten == nil {
		s.tell("why", c.Why)
	}
	s.filters(c)
	if err := s.scores(w, c, on); err != nil {
		return err
	}
	s.choice(of, c)
	if c.Fix != nil {
		s.paint("fix", c.Fix.String(), func(line string) painted { return on.paint(good, line) })
	}
	return nil
}

// tell writes a fact, if there is one.
func (s story) tell(label, text string) {
	s.paint(label, text, plain.paint)
}

// paint does the same with each line painted.
func (s story) paint(label, text string, line func(string) painted) {
	if text == "" {
		return
	}
	for _, one := range wrapped(text, s.width) {
		printf(s.w, "  %-*s  %s\n", maxLabel, label, line(one))
		label = ""
	}
}

// filters tells what comes before any score.
func (s story) filters(c *explain.Cluster) {
	s.tell("sets", cmp.Or(strings.Join(c.Sets, ", "), "none that the placement may choose from"))
	for _, clause := range c.Clauses {
		s.tell(fmt.Sprintf("predicate %d", clause.Predicate), clauseText(clause))
	}
	s.tell("tier", c.Tier)
	if c.Taint != nil {
		s.tell("taint", taintText(c.Taint))
		s.tell("nearest", cmp.Or(c.Taint.Nearest, "no toleration is for its key"))
	}
	if c.Reluctant {
		s.tell("taint", "a PreferNoSelect taint that is not tolerated puts it after all without one")
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

// scores writes what each prioritizer says.
func (s story) scores(w io.Writer, c *explain.Cluster, on screen) error {
	if len(c.Scores) == 0 {
		return nil
	}
	table := newTable(w, "    ")
	table.screen, table.flexible = on, []int{1}
	s.tell("scores", fmt.Sprintf("%d in all", c.Total))
	table.row("PRIORITIZER", "SEEN", "VALUE", "WEIGHT", "POINTS")
	for _, score := range c.Scores {
		table.row(score.Prioritizer, score.Raw, fmt.Sprint(score.Value), fmt.Sprint(score.Weight), fmt.Sprint(score.Value*score.Weight))
	}
	return table.Flush()
}

// choice tells what came after the scores: who goes before the cluster, what keeps it apart, and how long.
func (s story) choice(of *explain.Explanation, c *explain.Cluster) {
	if c.Rank > 0 {
		text := fmt.Sprint(c.Rank)
		if of.Cut != nil && of.Cut.Cluster != c.Name {
			text += fmt.Sprintf("; the cut is %s, rank %d with %s", of.Cut.Cluster, of.Cut.Rank, count(int(of.Cut.Total), "point"))
		}
		s.tell("rank", text)
	}
	s.tell("beaten", c.Behind())
	if in := c.Constraint; in != nil {
		s.tell("constraint", in.Text)
		s.tell("domain", cmp.Or(in.Domain, "none"))
		s.tell("held by", in.By)
	}
	if c.Would != "" {
		s.tell("would be", c.Would)
	}
	if c.Until != nil {
		s.tell("until", c.Until.Format(time.RFC3339))
	}
	if c.Group != nil {
		s.tell("group", strings.TrimPrefix(c.Group.String(), "group "))
	}
}
