package rollouts

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/source/file"
	"github.com/berth-project/berth/rollout"
	"github.com/berth-project/berth/rollout/simulation"
)

// Plan is how a strategy brings a change to the clusters of a placement. Exactly one of Waves, Next and Timeline is set.
type Plan struct {
	Placement      string                      `json:"placement"`
	Type           clusterv1alpha1.RolloutType `json:"type"`
	Clusters       int                         `json:"clusters"`
	Groups         int                         `json:"groups"`
	MaxConcurrency int                         `json:"maxConcurrency"`
	Remarks        []string                    `json:"remarks,omitempty"`
	Waves          []planWave                  `json:"waves,omitempty"`
	Next           *planNext                   `json:"next,omitempty"`
	Timeline       []timelineRow               `json:"timeline,omitempty"`
	Outcome        string                      `json:"outcome,omitempty"`

	// first is the step at the start.
	first rollout.Step
}

// planWave is the clusters that start together when all goes well.
type planWave struct {
	Groups        []string `json:"groups"`
	Clusters      []string `json:"clusters"`
	NeedsApproval []string `json:"needsApproval,omitempty"`
}

// planNext is a step, with the clusters that share a code and what it means.
type planNext struct {
	Phase    rollout.Phase `json:"phase"`
	Message  string        `json:"message"`
	Until    *metav1.Time  `json:"until,omitempty"`
	Verdicts []planRow     `json:"verdicts"`
}

// planRow is the clusters that share a code and what it means.
type planRow struct {
	Code     rollout.Code `json:"code"`
	Why      string       `json:"why"`
	Until    *metav1.Time `json:"until,omitempty"`
	Clusters []string     `json:"clusters"`
}

// timelineRow is an instant of a play.
type timelineRow struct {
	After     string        `json:"after"`
	Phase     rollout.Phase `json:"phase"`
	Started   []string      `json:"started,omitempty"`
	Succeeded []string      `json:"succeeded,omitempty"`
	Failed    []string      `json:"failed,omitempty"`
	Lost      []string      `json:"lost,omitempty"`
	TimedOut  []string      `json:"timedOut,omitempty"`
	UnderWay  int           `json:"underWay"`
}

func newPlan(placement *clusterv1beta1.Placement, play simulation.Run) *Plan {
	var first rollout.Step
	for moment := range play.Events() {
		first = moment.Step
		break
	}
	return &Plan{
		Placement: file.KeyOf(placement).String(), Type: cmp.Or(play.Strategy.Type, clusterv1alpha1.All),
		Clusters: first.Total, Groups: len(play.Groups.Groups), MaxConcurrency: first.MaxConcurrency, first: first,
	}
}

// Unmatched returns the groups that the strategy names and the placement does not have.
func (p *Plan) Unmatched() []clusterv1alpha1.MandatoryDecisionGroup { return p.first.Unmatched }

// Waves returns a plan with the clusters that start together, in a rollout in which every cluster succeeds after the same time.
func Waves(placement *clusterv1beta1.Placement, play simulation.Run) *Plan {
	p := newPlan(placement, play)
	strategy := play.Strategy
	if strategy.Paused {
		p.Remarks = append(p.Remarks, "paused: no cluster starts until the rollout is resumed")
	}
	play.Strategy, play.Fleet = withoutHolds(strategy), simulation.Fleet{Duration: time.Second}
	p.Waves = []planWave{}
	last := p.first
	for moment := range play.Events() {
		last = moment.Step
		if len(moment.Step.Apply) == 0 {
			continue
		}
		wave := planWave{Clusters: moment.Step.Apply}
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
		p.Waves = append(p.Waves, wave)
	}
	if last.Phase == rollout.PhaseUnproven {
		p.Remarks = append(p.Remarks, "stands still after that: "+last.Message())
	}
	return p
}

// NextStep returns a plan with the first step. The clusters that share a code and a reason are together, in the order of the codes.
func NextStep(placement *clusterv1beta1.Placement, play simulation.Run) *Plan {
	p := newPlan(placement, play)
	step := p.first
	p.Next = &planNext{Phase: step.Phase, Message: step.Message(), Until: printer.TimeOrNil(metav1.NewTime(step.Until)), Verdicts: []planRow{}}
	type group struct {
		code rollout.Code
		why  string
	}
	at := map[group]int{}
	for _, v := range step.Verdicts {
		key := group{v.Code, step.Explain(v)}
		position, seen := at[key]
		if !seen {
			position = len(p.Next.Verdicts)
			at[key] = position
			p.Next.Verdicts = append(p.Next.Verdicts, planRow{Code: v.Code, Why: key.why})
		}
		row := &p.Next.Verdicts[position]
		row.Clusters = append(row.Clusters, v.Cluster)
		if until := printer.TimeOrNil(metav1.NewTime(v.Until)); until != nil && (row.Until == nil || until.Before(row.Until)) {
			row.Until = until
		}
	}
	order := rollout.Codes()
	slices.SortStableFunc(p.Next.Verdicts, func(a, b planRow) int {
		return cmp.Compare(slices.Index(order, a.Code), slices.Index(order, b.Code))
	})
	return p
}

// Timeline returns a plan with every instant of a simulated rollout at which something happened.
func Timeline(placement *clusterv1beta1.Placement, play simulation.Run) *Plan {
	p := newPlan(placement, play)
	p.Timeline = []timelineRow{}
	given := map[string]bool{}
	last := p.first
	took := time.Duration(0)
	for moment := range play.Events() {
		row := timelineRow{
			After: moment.At.Sub(play.Start).String(), Phase: moment.Step.Phase, Started: moment.Step.Apply,
			Succeeded: moment.Succeeded, Failed: moment.Failed, Lost: moment.Lost, UnderWay: moment.Step.InFlight,
		}
		for _, cluster := range moment.Step.TimedOut {
			if !given[cluster] {
				row.TimedOut = append(row.TimedOut, cluster)
				given[cluster] = true
			}
		}
		p.Timeline = append(p.Timeline, row)
		if moment.Step.Phase != last.Phase {
			took = moment.At.Sub(play.Start)
		}
		last = moment.Step
	}
	p.Outcome = fmt.Sprintf("%s after %s: %s", last.Phase, took, last.Message())
	return p
}

// withoutHolds returns a strategy without pause and approvals.
func withoutHolds(strategy *clusterv1alpha1.RolloutStrategy) *clusterv1alpha1.RolloutStrategy {
	out := strategy.DeepCopy()
	out.Paused, out.Approval = false, nil
	return out
}
