package delivery

import (
	"cmp"
	"fmt"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/rollout"
)

// maxListed is how many clusters a table lists.
const maxListed = 20

// Report is how far the rollout of a set is.
type Report struct {
	Set string `json:"set"`
	// Phase and Message are those of the condition Progressing, which the manager writes.
	Phase   string `json:"phase,omitempty"`
	Message string `json:"message,omitempty"`
	// CurrentRevision is the last template that all clusters reached, UpdateRevision the present one.
	CurrentRevision string                                     `json:"currentRevision,omitempty"`
	UpdateRevision  string                                     `json:"updateRevision,omitempty"`
	Summary         workv1alpha1.ManifestWorkReplicaSetSummary `json:"summary"`
	Placements      []PlacementReport                          `json:"placements"`
	// Clusters has every cluster, by name. It is absent if the caller may not list works.
	Clusters []ClusterReport `json:"clusters,omitempty"`
}

// PlacementReport is how far the rollout over one placement is.
type PlacementReport struct {
	Name     string                      `json:"name"`
	Strategy clusterv1alpha1.RolloutType `json:"strategy"`
	Paused   bool                        `json:"paused,omitempty"`
	Phase    string                      `json:"phase,omitempty"`
	Message  string                      `json:"message,omitempty"`
	Selected int                         `json:"selected"`
	Updated  int                         `json:"updated"`
}

// ClusterReport is how far the delivery to one cluster is, and why.
type ClusterReport struct {
	Cluster   string        `json:"cluster"`
	Placement string        `json:"placement,omitempty"`
	State     rollout.State `json:"state"`
	Code      rollout.Code  `json:"code"`
	Since     *metav1.Time  `json:"since,omitempty"`
	Message   string        `json:"message,omitempty"`
}

// NewReport returns the report at an instant. Where works were read, it comes from them, by the planner of the manager, else from
// the status of the set.
func NewReport(d Delivery, now time.Time) (Report, error) {
	status := d.Set.Status
	out := Report{
		Set: d.Set.Namespace + "/" + d.Set.Name, CurrentRevision: status.CurrentRevision, UpdateRevision: status.UpdateRevision, Summary: status.Summary,
	}
	if d.WorksHidden {
		out.fromStatus(d.Set)
		return out, nil
	}
	plan, err := d.plan(now)
	if err != nil {
		return out, err
	}
	out.Summary = plan.Status.Summary
	out.setCondition(plan.Status.Conditions)
	for i, step := range plan.Rollouts {
		report := newPlacementReport(d.Set.Spec.PlacementRefs[i])
		report.Phase, report.Message = string(step.Phase), step.Message
		out.Placements = append(out.Placements, withCounts(report, plan.Status.PlacementsSummary))
	}
	for _, verdict := range plan.Verdicts {
		cluster := ClusterReport{Cluster: verdict.Cluster, Placement: verdict.Placement, State: verdict.State, Code: verdict.Code, Message: verdict.Message}
		if !verdict.Since.IsZero() {
			cluster.Since = &metav1.Time{Time: verdict.Since}
		}
		out.Clusters = append(out.Clusters, cluster)
	}
	return out, nil
}

func (r *Report) fromStatus(set *workv1alpha1.ManifestWorkReplicaSet) {
	r.setCondition(set.Status.Conditions)
	for _, ref := range set.Spec.PlacementRefs {
		r.Placements = append(r.Placements, withCounts(newPlacementReport(ref), set.Status.PlacementsSummary))
	}
}

func (r *Report) setCondition(conditions []metav1.Condition) {
	if condition := meta.FindStatusCondition(conditions, "Progressing"); condition != nil {
		r.Phase, r.Message = condition.Reason, condition.Message
	}
}

func newPlacementReport(ref workv1alpha1.LocalPlacementReference) PlacementReport {
	return PlacementReport{Name: ref.Name, Strategy: cmp.Or(ref.RolloutStrategy.Type, clusterv1alpha1.All), Paused: ref.RolloutStrategy.Paused}
}

func withCounts(report PlacementReport, counts []workv1alpha1.PlacementSummary) PlacementReport {
	for _, of := range counts {
		if of.Name == report.Name {
			report.Selected, report.Updated = of.Summary.DesiredTotal, of.Summary.Updated
		}
	}
	return report
}

// PrintTable writes the report for a screen: the clusters that have not succeeded, or with all every cluster.
func (r *Report) PrintTable(w io.Writer, screen printer.Screen, now time.Time, all bool) error {
	head := printer.NewTable(w, "")
	head.Screen = screen
	head.Row("set", r.Set)
	head.Row("rollout", cmp.Or(r.Phase, "not planned yet"))
	head.Row("clusters", fmt.Sprintf("%d selected, %d with the present template, %d applied", r.Summary.DesiredTotal, r.Summary.Updated, r.Summary.Applied))
	head.Row("objects", fmt.Sprintf("%d available, %d changing, %d failing", r.Summary.Available, r.Summary.Progressing, r.Summary.Degraded))
	if err := head.Flush(); err != nil {
		return err //nolint:wrapcheck // the error of the writer
	}
	for _, line := range printer.Wrap(r.Message, max(screen.Width, minMessageWidth)) {
		printer.Printf(w, "%s\n", line)
	}
	printer.Printf(w, "\n")
	placements := printer.NewTable(w, "")
	placements.Screen = screen
	placements.Row("PLACEMENT", "STRATEGY", "UPDATED", "PHASE")
	for _, p := range r.Placements {
		phase := p.Phase
		if p.Paused {
			phase = "Paused"
		}
		placements.Row(p.Name, string(p.Strategy), fmt.Sprintf("%d of %d", p.Updated, p.Selected), cmp.Or(phase, printer.Dash))
	}
	if err := placements.Flush(); err != nil {
		return err //nolint:wrapcheck // the error of the writer
	}
	return r.printClusters(w, screen, now, all)
}

// minMessageWidth is where a message is wrapped if the screen has no edge or is narrow.
const minMessageWidth = 80

func (r *Report) printClusters(w io.Writer, screen printer.Screen, now time.Time, all bool) error {
	const whyColumn = 4
	table := printer.NewTable(w, "")
	table.Screen, table.Flexible, table.Optional = screen, []int{whyColumn}, []int{1}
	table.Row("CLUSTER", "PLACEMENT", "STATE", "SINCE", "WHY")
	listed, more := 0, 0
	for _, c := range r.Clusters {
		switch {
		case !all && c.Code == rollout.Done:
			continue
		case !all && listed == maxListed:
			more++
			continue
		}
		listed++
		table.Row(c.Cluster, cmp.Or(c.Placement, printer.Dash), string(c.State), printer.Age(c.Since, now), cmp.Or(c.Message, string(c.Code)))
	}
	if listed == 0 {
		return nil
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
