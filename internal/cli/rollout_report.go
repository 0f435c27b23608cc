package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/internal/cli/offline"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/source/file"
	"github.com/berth-project/berth/rollout"
	"github.com/berth-project/berth/rollout/simulation"
)

// rolloutReport is what is printed of a rollout. Exactly one of Waves, Next and Timeline is set.
type rolloutReport struct {
	Placement      string                      `json:"placement"`
	Type           clusterv1alpha1.RolloutType `json:"type"`
	Clusters       int                         `json:"clusters"`
	Groups         int                         `json:"groups"`
	MaxConcurrency int                         `json:"maxConcurrency"`
	Remarks        []string                    `json:"remarks,omitempty"`
	Waves          []rolloutWave               `json:"waves,omitempty"`
	Next           *rolloutNext                `json:"next,omitempty"`
	Timeline       []rolloutTimelineRow        `json:"timeline,omitempty"`
	Outcome        string                      `json:"outcome,omitempty"`

	// first is the step at the start.
	first rollout.Step
	// screen is where the waves are shown; its zero value has no edge.
	screen printer.Screen
}

// rolloutWave is the clusters that start together when all goes well.
type rolloutWave struct {
	Groups        []string `json:"groups"`
	Clusters      []string `json:"clusters"`
	NeedsApproval []string `json:"needsApproval,omitempty"`
}

// rolloutNext is a step, with the clusters that share a code and what it means.
type rolloutNext struct {
	Phase    rollout.Phase `json:"phase"`
	Message  string        `json:"message"`
	Until    *metav1.Time  `json:"until,omitempty"`
	Verdicts []rolloutRow  `json:"verdicts"`
}

type rolloutRow struct {
	Code     rollout.Code `json:"code"`
	Why      string       `json:"why"`
	Until    *metav1.Time `json:"until,omitempty"`
	Clusters []string     `json:"clusters"`
}

// rolloutTimelineRow is an instant of a play.
type rolloutTimelineRow struct {
	After     string        `json:"after"`
	Phase     rollout.Phase `json:"phase"`
	Started   []string      `json:"started,omitempty"`
	Succeeded []string      `json:"succeeded,omitempty"`
	Failed    []string      `json:"failed,omitempty"`
	TimedOut  []string      `json:"timedOut,omitempty"`
	UnderWay  int           `json:"underWay"`
}

func newRolloutReport(placement *clusterv1beta1.Placement, play simulation.Run) *rolloutReport {
	first := rollout.Next(play.Strategy, play.Groups, play.Statuses, play.Start)
	return &rolloutReport{
		Placement: file.KeyOf(placement).String(), Type: cmp.Or(play.Strategy.Type, clusterv1alpha1.All),
		Clusters: first.Total, Groups: len(play.Groups.Groups), MaxConcurrency: first.MaxConcurrency, first: first,
	}
}

// waves simulates a rollout in which every cluster succeeds after the same time, and collects the clusters that start
// together.
func (r *rolloutReport) waves(play simulation.Run) {
	strategy := play.Strategy
	if strategy.Paused {
		r.Remarks = append(r.Remarks, "paused: no cluster starts until the rollout is resumed")
	}
	play.Strategy, play.Fleet = unheldStrategy(strategy), simulation.Fleet{Duration: time.Second}
	r.Waves = []rolloutWave{}
	for moment := range play.Events() {
		if len(moment.Step.Apply) == 0 {
			continue
		}
		wave := rolloutWave{Clusters: moment.Step.Apply}
		for _, v := range moment.Step.Verdicts {
			name := v.Group.String()
			if v.Code != rollout.Starting || slices.Contains(wave.Groups, name) {
				continue
			}
			wave.Groups = append(wave.Groups, name)
			if rollout.NeedsApproval(strategy, v.Group) {
				wave.NeedsApproval = append(wave.NeedsApproval, name)
			}
		}
		r.Waves = append(r.Waves, wave)
	}
}

// next puts the clusters of the first step together that share a code and a reason, in the order of the codes.
func (r *rolloutReport) next() {
	step := r.first
	r.Next = &rolloutNext{Phase: step.Phase, Message: step.Message(), Until: printer.TimeOrNil(metav1.NewTime(step.Until)), Verdicts: []rolloutRow{}}
	type group struct {
		code rollout.Code
		why  string
	}
	at := map[group]int{}
	for _, v := range step.Verdicts {
		key := group{v.Code, step.Explain(v)}
		position, seen := at[key]
		if !seen {
			position = len(r.Next.Verdicts)
			at[key] = position
			r.Next.Verdicts = append(r.Next.Verdicts, rolloutRow{Code: v.Code, Why: key.why})
		}
		row := &r.Next.Verdicts[position]
		row.Clusters = append(row.Clusters, v.Cluster)
		if until := printer.TimeOrNil(metav1.NewTime(v.Until)); until != nil && (row.Until == nil || until.Before(row.Until)) {
			row.Until = until
		}
	}
	order := rollout.Codes()
	slices.SortStableFunc(r.Next.Verdicts, func(a, b rolloutRow) int {
		return cmp.Compare(slices.Index(order, a.Code), slices.Index(order, b.Code))
	})
}

// timeline plays the rollout and notes every instant at which something happened.
func (r *rolloutReport) timeline(play simulation.Run) {
	r.Timeline = []rolloutTimelineRow{}
	given := map[string]bool{}
	last := r.first
	took := time.Duration(0)
	for moment := range play.Events() {
		row := rolloutTimelineRow{
			After: moment.At.Sub(play.Start).String(), Phase: moment.Step.Phase, Started: moment.Step.Apply,
			Succeeded: moment.Succeeded, Failed: moment.Failed, UnderWay: moment.Step.InFlight,
		}
		for _, cluster := range moment.Step.TimedOut {
			if !given[cluster] {
				row.TimedOut = append(row.TimedOut, cluster)
				given[cluster] = true
			}
		}
		r.Timeline = append(r.Timeline, row)
		if moment.Step.Phase != last.Phase {
			took = moment.At.Sub(play.Start)
		}
		last = moment.Step
	}
	r.Outcome = fmt.Sprintf("%s after %s: %s", last.Phase, took, last.Message())
}

func (r *rolloutReport) printTable(w io.Writer) error {
	printer.Printf(w, "%s: %s, %s in %s", r.Placement, r.Type, printer.Count(r.Clusters, "cluster"), printer.Count(r.Groups, "group"))
	if r.Type == clusterv1alpha1.Progressive {
		fmt.Fprintf(w, ", at most %d at a time", r.MaxConcurrency)
	}
	fmt.Fprintln(w)
	for _, remark := range r.Remarks {
		printer.Printf(w, "  %s\n", remark)
	}
	table := printer.NewTable(w, "  ")
	switch {
	case r.Next != nil:
		r.nextRows(w, table)
	case r.Timeline != nil:
		r.timelineRows(table)
	default:
		r.waveRows(table)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if r.Outcome != "" {
		printer.Printf(w, "%s\n", r.Outcome)
	}
	return nil
}

func (r *rolloutReport) waveRows(table *printer.Table) {
	const groupsColumn, clustersColumn = 2, 4
	table.Screen, table.Flexible = r.screen, []int{groupsColumn, clustersColumn}
	table.Row("WAVE", "COUNT", "GROUPS", "NEEDS-APPROVAL", "CLUSTERS")
	for i, wave := range r.Waves {
		table.Row(strconv.Itoa(i+1), strconv.Itoa(len(wave.Clusters)), printer.JoinNames(wave.Groups, printer.MaxExamples),
			cmp.Or(printer.JoinNames(wave.NeedsApproval, printer.MaxExamples), printer.Dash), printer.JoinNames(wave.Clusters, offline.MaxMembers))
	}
}

func (r *rolloutReport) nextRows(w io.Writer, table *printer.Table) {
	printer.Printf(w, "  %s: %s\n", r.Next.Phase, r.Next.Message)
	if r.Next.Until != nil {
		fmt.Fprintf(w, "  look again at %s\n", printer.FormatTime(r.Next.Until.Time))
	}
	table.Row("CODE", "COUNT", "WHY", "UNTIL", "CLUSTERS")
	for _, row := range r.Next.Verdicts {
		until := printer.Dash
		if row.Until != nil {
			until = printer.FormatTime(row.Until.Time)
		}
		table.Row(string(row.Code), strconv.Itoa(len(row.Clusters)), row.Why, until, printer.JoinNames(row.Clusters, offline.MaxMembers))
	}
}

func (r *rolloutReport) timelineRows(table *printer.Table) {
	table.Row("AFTER", "PHASE", "UNDER-WAY", "STARTED", "SUCCEEDED", "FAILED", "TIMED-OUT")
	for _, row := range r.Timeline {
		table.Row(row.After, string(row.Phase), strconv.Itoa(row.UnderWay),
			countAndNames(row.Started), countAndNames(row.Succeeded), countAndNames(row.Failed), countAndNames(row.TimedOut))
	}
}

// countAndNames returns how many clusters there are, and the first of them.
func countAndNames(clusters []string) string {
	if len(clusters) == 0 {
		return printer.Dash
	}
	return strings.Join([]string{strconv.Itoa(len(clusters)), printer.JoinNames(clusters, printer.MaxExamples)}, ": ")
}
