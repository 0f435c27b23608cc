package simulate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/internal/cli/offline"
	"github.com/berth-project/berth/internal/cli/printer"
)

const (
	// maxRequestedInstants is how often --at may be given.
	maxRequestedInstants = 100

	nextKeyword = "next"
)

// requestedInstant is a value of --at.
type requestedInstant struct {
	text string
	// at is zero for the next instant at which the hub looks again.
	at time.Time
}

// readInstants reads the values of --at, which are in order. Offsets count from start.
func readInstants(values []string, start time.Time) ([]requestedInstant, error) {
	if len(values) > maxRequestedInstants {
		return nil, fmt.Errorf("--at is given %d times: at most %d instants can be asked for", len(values), maxRequestedInstants)
	}
	out := make([]requestedInstant, 0, len(values))
	last := start
	for _, value := range values {
		if value == nextKeyword {
			out = append(out, requestedInstant{text: value})
			continue
		}
		at, err := readInstant(value, start)
		switch {
		case err != nil:
			return nil, err
		case at.Before(last):
			return nil, fmt.Errorf("--at %s is before %s: give instants in order, from now on", value, printer.FormatTime(last))
		}
		last = at
		out = append(out, requestedInstant{value, at})
	}
	return out, nil
}

// readInstant reads an instant, or an offset from another.
func readInstant(value string, start time.Time) (time.Time, error) {
	if offset, isOffset := strings.CutPrefix(value, "+"); isOffset {
		if length, err := time.ParseDuration(offset); err == nil && length >= 0 {
			return start.Add(length), nil
		}
	} else if at, err := time.Parse(time.RFC3339, value); err == nil {
		return at, nil
	}
	return time.Time{}, fmt.Errorf("--at %q is neither an offset such as +10m, nor an instant such as 2026-11-20T10:00:00Z, nor next", value)
}

var errNothingNext = errors.New("no decision changes by itself any more")

// advance advances to a stop. The error is errNothingNext where the hub never looks again.
func (r requestedInstant) advance(ctx context.Context, t *offline.Timeline) ([]offline.TimelineStep, error) {
	to := r.at
	if to.IsZero() {
		next, ok := t.NextInstant()
		if !ok {
			return nil, errNothingNext
		}
		to = next
	}
	if to.Before(t.Now) {
		return nil, fmt.Errorf("--at %s comes after %s, which is later", r.text, printer.FormatTime(t.Now))
	}
	return t.Advance(ctx, to)
}

// runInstants advances to each instant, writes the changes, and returns the placements that are not satisfied. It ends early
// when no decision changes by itself any more.
func runInstants(ctx context.Context, w io.Writer, t *offline.Timeline, stops []requestedInstant) ([]string, error) {
	var unsatisfied []string
	for _, s := range stops {
		moments, err := s.advance(ctx, t)
		if errors.Is(err, errNothingNext) {
			break
		}
		if err != nil {
			return nil, err
		}
		if err := printMoments(w, s, t.Now, moments); err != nil {
			return nil, err
		}
		for _, line := range notSatisfied(t.Decided) {
			unsatisfied = append(unsatisfied, printer.FormatTime(t.Now)+": "+line)
		}
	}
	if next, ok := t.NextInstant(); ok {
		fmt.Fprintf(w, "\nthe next instant at which a decision may change by itself is %s\n", printer.FormatTime(next))
	} else {
		fmt.Fprintf(w, "\n%s\n", errNothingNext)
	}
	return unsatisfied, nil
}

// printMoments writes what moved on the way to a stop.
func printMoments(w io.Writer, s requestedInstant, at time.Time, moments []offline.TimelineStep) error {
	title := printer.FormatTime(at)
	if s.text != title {
		title += " (" + s.text + ")"
	}
	printer.Printf(w, "\n%s\n", title)
	table := printer.NewTable(w, "  ")
	table.Row("AT", "PLACEMENT", "CHANGE", "COUNT", "CLUSTERS", "WHY")
	moved := false
	for _, m := range moments {
		for _, one := range m.Changes {
			moved = true
			count := printer.Dash
			if len(one.Clusters) > 0 {
				count = fmt.Sprint(len(one.Clusters))
			}
			table.Row(printer.FormatTime(m.At), one.Key.String(), one.Change, count, one.ClustersText(),
				printer.Truncate(strings.Join(strings.Fields(one.Why), " "), printer.MaxReason))
		}
	}
	if !moved {
		fmt.Fprintln(w, "  nothing moves")
		return nil
	}
	return table.Flush()
}

// notSatisfied names the placements whose PlacementSatisfied is not True, each with the reason.
func notSatisfied(decided []offline.Decision) []string {
	var out []string
	for _, d := range decided {
		condition := meta.FindStatusCondition(d.Placement.Status.Conditions, clusterv1beta1.PlacementConditionSatisfied)
		switch {
		case condition == nil:
			out = append(out, d.Key.String()+": it was never decided")
		case condition.Status != "True":
			out = append(out, fmt.Sprintf("%s: %s: %s", d.Key, condition.Reason, condition.Message))
		}
	}
	return out
}
