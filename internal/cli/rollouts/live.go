package rollouts

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/delivery/report"
	"github.com/berth-project/berth/rollout"
)

// settleTime is how long a rollout must stand still before a live view ends, while the manager has not planned the present spec, or a
// placement, which may be new, has decided nothing yet.
const settleTime = 5 * time.Second

// maxRows bounds the placements and the reasons in a frame.
const maxRows = 4

// Outcome is how a rollout ended for a live view.
type Outcome struct {
	// Ended is set once the view has nothing more to show.
	Ended bool
	// Reason is why the rollout stands still, Next what a user does; both are empty for a rollout that finished.
	Reason, Next string
	// Waits means that the rollout is paused, or waits until a person approves or passes a group.
	Waits bool
}

// Live turns reports into a live view: frames on a terminal, and a line for each change elsewhere. It reads no clock.
type Live struct {
	screen printer.Screen
	// redraws is set on a terminal.
	redraws bool

	began, still time.Time
	last         string
	lines        int
}

// NewLive returns a view for a screen, which is a terminal or not.
func NewLive(screen printer.Screen, terminal bool) *Live {
	return &Live{screen: screen, redraws: terminal}
}

// Show returns what to write for a report, and whether the rollout has ended.
func (l *Live) Show(r *report.Report, now time.Time) (string, Outcome) {
	if l.began.IsZero() {
		l.began = now
	}
	outcome := l.outcome(r, now)
	if !l.redraws {
		line := progressLine(r)
		if line == l.last {
			return "", outcome
		}
		l.last = line
		return string(l.screen.Paint(printer.StylePlain,
			printer.Truncate(now.UTC().Format(time.TimeOnly)+"  "+line, l.screen.LineWidth()))) + "\n", outcome
	}
	frame := l.frame(r, now)
	out := strings.Repeat(printer.EraseLineAbove, l.lines) + frame
	l.lines = strings.Count(frame, "\n")
	return out, outcome
}

// outcome reports whether a rollout has finished or stands still. It waits a moment where the manager may not have seen the present state.
func (l *Live) outcome(r *report.Report, now time.Time) Outcome {
	finished, waits, settled := true, true, r.Observed
	var reason, next string
	namespace, _, _ := strings.Cut(r.Set, "/")
	for _, p := range r.Placements {
		phase := rollout.Phase(p.Phase)
		if phase == rollout.PhaseEmpty && r.Phase == string(rollout.PhaseFinished) {
			continue // other placements rule its clusters, and the rollout of the set has finished
		}
		finished = finished && phase == rollout.PhaseFinished
		settled = settled && phase != rollout.PhaseUndecided && phase != rollout.PhaseEmpty // its decision is made, and then filled
		if moves(phase, p.InFlight) {
			l.still = time.Time{}
			return Outcome{}
		}
		waits = waits && (phase == rollout.PhaseFinished || phase == rollout.PhasePaused || phase == rollout.PhaseUnapproved ||
			phase == rollout.PhaseUnproven || phase == rollout.PhaseMissing)
		if reason == "" && phase != rollout.PhaseFinished {
			look := fmt.Sprintf("waits for its placement: see `kubectl berth explain placement %s -n %s`", p.Name, namespace)
			reason, next = p.Name+": "+p.Message, cmp.Or(p.Next, look)
		}
	}
	if finished {
		return Outcome{Ended: true}
	}
	if l.still.IsZero() {
		l.still = now
	}
	if !settled && now.Sub(l.still) < settleTime {
		return Outcome{}
	}
	return Outcome{Ended: true, Reason: reason, Next: next, Waits: waits}
}

// moves reports whether a rollout goes on by itself.
func moves(phase rollout.Phase, inFlight int) bool {
	switch phase {
	case rollout.PhaseAdvancing, rollout.PhaseWaiting, rollout.PhaseSoaking:
		return true
	case rollout.PhaseBreached, rollout.PhasePaused:
		return inFlight > 0
	default:
		return false
	}
}

// numbers are the clusters of all placements of a report.
type numbers struct{ total, done, inFlight, failed, lost, leftOut int }

func numbersOf(r *report.Report) numbers {
	var out numbers
	for _, p := range r.Placements {
		out.total += p.Selected
		out.done += p.Done
		out.inFlight += p.InFlight
		out.failed += p.Failed
		out.lost += p.Lost
		out.leftOut += p.LeftOut
	}
	return out
}

// progressLine returns the state of a rollout in one line.
func progressLine(r *report.Report) string {
	n := numbersOf(r)
	width := len(fmt.Sprint(n.total))
	rest := ""
	if n.lost > 0 {
		rest = fmt.Sprintf(", %d lost", n.lost)
	}
	if n.leftOut > 0 {
		rest += fmt.Sprintf(", %d left out", n.leftOut)
	}
	for _, p := range r.Placements {
		if p.Group != "" {
			rest += ", group " + p.Group
			break
		}
	}
	return fmt.Sprintf("%-9s  %*d of %d done, %*d under way, %d failed%s", r.Phase, width, n.done, n.total, width, n.inFlight, n.failed, rest)
}

// frame returns the view of a terminal.
func (l *Live) frame(r *report.Report, now time.Time) string {
	var out strings.Builder
	width := l.screen.LineWidth()
	line := func(style printer.TextStyle, text string) {
		out.WriteString(string(l.screen.Paint(style, printer.Truncate(text, width))) + "\n")
	}
	n := numbersOf(r)
	tail := fmt.Sprintf("  %d of %d done  %s", n.done, n.total, duration.HumanDuration(now.Sub(l.began)))
	line(phaseStyle(r.Phase), r.Set+"  "+bar(n, width-len(r.Set)-len(tail)-4)+tail)
	for i, p := range r.Placements {
		if i == maxRows {
			line(printer.StylePlain, fmt.Sprintf("  and %d more placements", len(r.Placements)-maxRows))
			break
		}
		text := fmt.Sprintf("  %s (%s): %s", p.Name, p.Phase, p.Message)
		if p.Group != "" {
			text += ", group " + p.Group
		}
		line(printer.StylePlain, text)
	}
	for i, row := range rowsOf(r.Clusters) {
		if i == maxRows {
			break
		}
		head := fmt.Sprintf("  %-15s %*d  ", row.first.Code, len(fmt.Sprint(n.total)), len(row.clusters))
		text := printer.FitNames(row.clusters, width-len(head))
		if row.first.State == rollout.StateFailed && len(row.clusters) == 1 {
			text = row.clusters[0] + ": " + whyOf(row.first)
		}
		line(codeStyle(row.first.Code), head+text)
	}
	return out.String()
}

// bar draws the clusters that are done as #, those under way as >, and those that failed as !.
func bar(n numbers, width int) string {
	width = max(10, width)
	parts := func(count int) int {
		if n.total == 0 {
			return 0
		}
		return count * width / n.total
	}
	done := parts(n.done)
	failed := parts(n.done+n.failed) - done
	inFlight := parts(n.done+n.failed+n.inFlight) - done - failed
	if failed == 0 && n.failed > 0 { // a failure is always seen
		failed = 1
		switch free := width - done - inFlight; {
		case free > 0:
		case inFlight > 0:
			inFlight--
		default:
			done--
		}
	}
	rest := max(0, width-done-failed-inFlight)
	return "[" + strings.Repeat("#", done) + strings.Repeat("!", failed) + strings.Repeat(">", inFlight) + strings.Repeat(".", rest) + "]"
}
