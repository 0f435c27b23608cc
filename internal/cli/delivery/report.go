package delivery

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/rollout"
)

// Report is what is printed of a delivery.
type Report struct {
	// Set is the set, as namespace/name.
	Set string `json:"set"`
	// Phase is the reason of the condition Progressing, Message its message.
	Phase           string                                     `json:"phase"`
	Message         string                                     `json:"message"`
	CurrentRevision string                                     `json:"currentRevision,omitempty"`
	UpdateRevision  string                                     `json:"updateRevision,omitempty"`
	Progress        Progress                                   `json:"progress"`
	Summary         workv1alpha1.ManifestWorkReplicaSetSummary `json:"summary"`
	// Placements has the rollout over each placement. It is absent where the caller may not list works.
	Placements []PlacementReport `json:"placements,omitempty"`
	Note       string            `json:"note,omitempty"`
}

// Progress counts the clusters that are selected.
type Progress struct {
	Total     int `json:"total"`
	Succeeded int `json:"succeeded"`
	UnderWay  int `json:"underWay"`
	Failed    int `json:"failed"`
}

// PlacementReport is the rollout over one placement. The placement "" has the clusters that no placement selects.
type PlacementReport struct {
	Placement string        `json:"placement"`
	Phase     rollout.Phase `json:"phase,omitempty"`
	Message   string        `json:"message,omitempty"`
	Until     *metav1.Time  `json:"until,omitempty"`
	Rows      []Row         `json:"rows"`
}

// Row is the clusters that share a code and a reason.
type Row struct {
	Code     rollout.Code `json:"code"`
	Why      string       `json:"why,omitempty"`
	Clusters []string     `json:"clusters"`
}

// Report returns what is to be printed.
func (d *Delivery) Report() *Report {
	out := &Report{Set: d.Set.Namespace + "/" + d.Set.Name}
	status := d.Plan.Status
	if d.Hidden {
		status = d.Set.Status
		out.Note = "you may not list the works of all clusters: this is the stored status of the set"
	}
	out.CurrentRevision, out.UpdateRevision, out.Summary = status.CurrentRevision, status.UpdateRevision, status.Summary
	out.Progress.Total = status.Summary.DesiredTotal
	if progressing := findCondition(status.Conditions, workv1alpha1.Progressing); progressing != nil {
		out.Phase, out.Message = progressing.Reason, progressing.Message
	}
	if d.Hidden {
		out.Progress.Succeeded = status.Summary.Updated - status.Summary.Progressing - status.Summary.Degraded
		out.Progress.UnderWay, out.Progress.Failed = status.Summary.Progressing, status.Summary.Degraded
		return out
	}
	for _, over := range d.Plan.Rollouts {
		placement := PlacementReport{Placement: over.Placement, Phase: over.Phase, Message: over.Message, Until: printer.TimeOrNil(metav1.NewTime(over.Until))}
		placement.Rows = d.rows(over.Placement)
		out.Placements = append(out.Placements, placement)
	}
	if left := d.rows(""); len(left) > 0 {
		out.Placements = append(out.Placements, PlacementReport{Rows: left})
	}
	for _, verdict := range d.Plan.Verdicts {
		if verdict.Placement == "" {
			continue
		}
		switch {
		case verdict.State == rollout.StateSucceeded:
			out.Progress.Succeeded++
		case verdict.State == rollout.StateFailed || verdict.Code == rollout.TimedOut:
			out.Progress.Failed++
		case verdict.State == rollout.StateProgressing || verdict.Code == rollout.Starting:
			out.Progress.UnderWay++
		}
	}
	return out
}

// rows groups the clusters that a placement rules, in the order of the codes.
func (d *Delivery) rows(placement string) []Row {
	type group struct {
		code rollout.Code
		why  string
	}
	at, out := map[group]int{}, []Row{}
	for _, verdict := range d.Plan.Verdicts {
		if verdict.Placement != placement {
			continue
		}
		key := group{verdict.Code, verdict.Message}
		position, seen := at[key]
		if !seen {
			position = len(out)
			at[key] = position
			out = append(out, Row{Code: verdict.Code, Why: verdict.Message})
		}
		out[position].Clusters = append(out[position].Clusters, verdict.Cluster)
	}
	order := rollout.Codes()
	slices.SortStableFunc(out, func(a, b Row) int { return cmp.Compare(slices.Index(order, a.Code), slices.Index(order, b.Code)) })
	return out
}

func findCondition(in []metav1.Condition, name string) *metav1.Condition {
	at := slices.IndexFunc(in, func(c metav1.Condition) bool { return c.Type == name })
	if at < 0 {
		return nil
	}
	return &in[at]
}

// barWidth is the number of characters of a bar.
const barWidth = 12

// Line returns the progress in one line.
func (r *Report) Line() string {
	p := r.Progress
	filled := 0
	if p.Total > 0 {
		filled = barWidth * min(p.Succeeded, p.Total) / p.Total
	}
	waiting := max(0, p.Total-p.Succeeded-p.UnderWay-p.Failed)
	return fmt.Sprintf("[%s%s] %d of %d succeeded, %d under way, %d to start, %d failed",
		strings.Repeat("#", filled), strings.Repeat(".", barWidth-filled), p.Succeeded, p.Total, p.UnderWay, waiting, p.Failed)
}

// Print writes a report for a terminal.
func Print(w io.Writer, r *Report, on printer.Screen) error {
	width := max(printer.MinLineWidth, cmp.Or(on.Width, printer.DefaultWidth))
	paragraph(w, fmt.Sprintf("%s: %s: %s", r.Set, cmp.Or(r.Phase, "Unknown"), cmp.Or(r.Message, "no manager has reported the set yet")), width)
	printer.Printf(w, "%s\n", r.Line())
	if r.Note != "" {
		paragraph(w, "note: "+r.Note, width)
	}
	for _, placement := range r.Placements {
		printer.Printf(w, "\n%s\n", placement.title())
		if err := printer.WriteVerdictRows(w, "  ", placement.verdictRows(), on); err != nil {
			return err
		}
	}
	return nil
}

// paragraph writes a text in lines of a width, all but the first indented.
func paragraph(w io.Writer, text string, width int) {
	const indent = "  "
	for i, line := range printer.Wrap(text, width-len(indent)) {
		if i > 0 {
			line = indent + line
		}
		printer.Printf(w, "%s\n", line)
	}
}

func (p *PlacementReport) title() string {
	if p.Placement == "" {
		return "Selected by no placement:"
	}
	if p.Until == nil {
		return fmt.Sprintf("Placement %s: %s", p.Placement, p.Phase)
	}
	return fmt.Sprintf("Placement %s: %s, next at %s", p.Placement, p.Phase, printer.FormatTime(p.Until.Time))
}

func (p *PlacementReport) verdictRows() []explain.Row {
	out := make([]explain.Row, 0, len(p.Rows))
	for _, row := range p.Rows {
		printed := explain.Row{Verdict: string(row.Code), Why: row.Why}
		for _, name := range row.Clusters {
			printed.Clusters = append(printed.Clusters, &explain.Cluster{Name: name})
		}
		out = append(out, printed)
	}
	return out
}
