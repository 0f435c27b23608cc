package addons

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/kube/phrase"
	"github.com/berth-project/berth/rollout"
)

const (
	// maxListed is how many clusters a table lists.
	maxListed = 20
	// minMessageWidth is where a message is wrapped if the screen has no edge or is narrow.
	minMessageWidth = 80
)

// PrintTable writes the report for a screen: the first clusters, those that failed before all others, and with all every cluster.
func PrintTable(w io.Writer, r *Report, screen printer.Screen, now time.Time, all bool) error {
	head := printer.NewTable(w, "")
	head.Screen = screen
	head.Row("add-on", r.AddOn)
	head.Row("installed", r.summary())
	if err := head.Flush(); err != nil {
		return err
	}
	lines := []string{}
	if r.Note != "" {
		lines = append(lines, r.Note)
	}
	for _, p := range r.Placements {
		lines = append(lines, p.Name+": "+p.Message)
		if p.Reported != "" {
			lines = append(lines, "reported by the manager: "+p.Reported)
		}
	}
	for _, line := range lines {
		for _, part := range printer.Wrap(line, max(screen.Width, minMessageWidth)) {
			printer.Printf(w, "%s\n", part)
		}
	}
	if len(r.Placements) > 0 {
		printer.Printf(w, "\n")
	}
	placements := printer.NewTable(w, "")
	placements.Screen = screen
	for i, p := range r.Placements {
		if i == 0 {
			placements.Row("PLACEMENT", "STRATEGY", "DONE", "PHASE", "LAST-KNOWN-GOOD")
		}
		placements.Row(p.Name, string(p.Strategy), fmt.Sprintf("%d of %d", p.Done, p.Clusters), cmp.Or(p.Phase, printer.Dash),
			namesOf(p.LastKnownGood))
	}
	if err := placements.Flush(); err != nil {
		return err
	}
	return r.printClusters(w, screen, now, all)
}

// summary returns where the add-on is installed, in a few words.
func (r *Report) summary() string {
	installed := 0
	for _, c := range r.Clusters {
		if c.Installed {
			installed++
		}
	}
	switch {
	case r.Note != "":
		return "not by placements"
	case len(r.Placements) > 0:
		return fmt.Sprintf("on %d of %s, by placements", installed, phrase.Count(len(r.Clusters), "cluster"))
	default:
		return "on " + phrase.Count(installed, "cluster") + ", by hand"
	}
}

// printClusters writes the clusters below the reasons that they share. A reason is often longer than what is left of a line.
func (r *Report) printClusters(w io.Writer, screen printer.Screen, now time.Time, all bool) error {
	shown := slices.Clone(r.Clusters)
	slices.SortStableFunc(shown, func(a, b Cluster) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), strings.Compare(a.Message, b.Message))
	})
	if !all {
		shown = shown[:min(len(shown), maxListed)]
	}
	if len(shown) == 0 {
		return nil
	}
	rows, err := rowsOf(shown, screen, now)
	if err != nil {
		return err
	}
	printer.Printf(w, "\n%s", printer.Painted(rows[0])) // a table escapes its cells
	for i, c := range shown {
		if c.Message != "" && (i == 0 || shown[i-1].Message != c.Message) {
			for _, line := range printer.Wrap(c.Message+":", max(screen.Width, minMessageWidth)) {
				printer.Printf(w, "%s\n", line)
			}
		}
		printer.Printf(w, "%s", printer.Painted(rows[i+1]))
	}
	if more := len(r.Clusters) - len(shown); more > 0 {
		printer.Printf(w, "and %d more; --all lists every cluster\n", more)
	}
	return nil
}

// rowsOf returns the lines of a table of clusters: the heads, then a line for each cluster.
func rowsOf(clusters []Cluster, screen printer.Screen, now time.Time) ([]string, error) {
	const placementColumn, configurationColumn = 1, 3
	var out strings.Builder
	table := printer.NewTable(&out, "  ")
	table.Screen, table.Flexible, table.Optional = screen, []int{configurationColumn}, []int{placementColumn}
	table.Row("CLUSTER", "PLACEMENT", "STATE", "CONFIGURATION", "HEALTH", "SINCE")
	for _, c := range clusters {
		table.Row(c.Cluster, cmp.Or(c.Placement, printer.Dash), c.state(), c.configuration(), cmp.Or(c.Health, printer.Dash),
			printer.Age(c.Since, now))
	}
	err := table.Flush()
	return strings.SplitAfter(out.String(), "\n"), err
}

// rank orders the clusters of a table: those that failed, those under way, those that wait, and those that are done.
func (c *Cluster) rank() int {
	switch c.State {
	case rollout.StateFailed, rollout.StateTimedOut:
		return 0
	case rollout.StateProgressing:
		return 1
	case rollout.StateSucceeded:
		return 3
	default:
		return 2
	}
}

// state returns the state of a cluster for a table.
func (c *Cluster) state() string {
	switch {
	case c.Leaving:
		return "Leaving"
	case !c.Installed:
		return "NotInstalled"
	case c.Code == rollout.Left:
		return "Left"
	default:
		return string(c.State)
	}
}

// configuration returns what a cluster has applied and has to reach, such as "base" or "base > next".
func (c *Cluster) configuration() string {
	wants := c.Wants
	if len(wants) == 0 {
		wants = c.Desired
	}
	if !c.Installed || len(wants) == 0 || slices.Equal(wants, c.Applied) {
		return namesOf(wants)
	}
	before, after := namesOf(c.Applied), namesOf(wants)
	if before == after {
		before = strings.ReplaceAll(before, ", ", "', ") + "'" // the same objects with another content
	}
	return before + " > " + after
}

// namesOf returns the names of configurations.
func namesOf(configs []Config) string {
	var names []string
	for _, config := range configs {
		names = append(names, config.Name)
	}
	return printer.JoinOrDash(names)
}
