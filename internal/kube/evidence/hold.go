package evidence

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	"github.com/berth-project/berth/rollout"
)

// holds puts on record what holds each placement. A hold that lasts keeps the time when it began. While nothing is decided, what held a
// placement before holds it still.
func (r *run) holds() {
	former := r.record.Holds
	r.record.Holds = nil
	if r.record.FinishedTime != nil {
		return
	}
	r.holdAll(former)
	for i := range r.out.Steps {
		name, step := r.in.Placements[i].Name, &r.out.Steps[i]
		if r.undecided(i) {
			r.keepHolds(former, name)
			continue
		}
		if step.Breached || step.Phase == rollout.PhaseBreached && !step.Elsewhere {
			r.hold(former, clusterv1alpha1.RolloutHold{Type: clusterv1alpha1.HoldBreach, Placement: name})
		}
		if step.Unproven != nil && (step.Phase == rollout.PhaseUnproven || step.Phase == rollout.PhaseBreached) {
			r.hold(former, clusterv1alpha1.RolloutHold{
				Type: clusterv1alpha1.HoldUnprovenGroup, Placement: name, MandatoryDecisionGroup: *step.Unproven,
			})
		}
	}
}

// keepHolds keeps what held a placement.
func (r *run) keepHolds(former []clusterv1alpha1.RolloutHold, name string) {
	for _, hold := range former {
		if hold.Placement == name && hold.Type != clusterv1alpha1.HoldMissing {
			r.record.Holds = append(r.record.Holds, hold)
		}
	}
}

// holdAll puts on record what holds all placements: the breach of a placement that was taken out, and clusters that are missing.
func (r *run) holdAll(former []clusterv1alpha1.RolloutHold) {
	if at := r.breachedFormer(); at >= 0 {
		r.hold(former, clusterv1alpha1.RolloutHold{Type: clusterv1alpha1.HoldBreach, Placement: r.record.Placements[at].Name})
	}
	if r.record.Missing > 0 {
		r.hold(former, clusterv1alpha1.RolloutHold{Type: clusterv1alpha1.HoldMissing, Placement: r.in.Placements[0].Name})
	}
}

// hold puts a hold on record, with the time of the former one if it is the same.
func (r *run) hold(former []clusterv1alpha1.RolloutHold, hold clusterv1alpha1.RolloutHold) {
	hold.Since = metav1.NewTime(r.in.Now)
	at := slices.IndexFunc(former, func(other clusterv1alpha1.RolloutHold) bool {
		return other.Type == hold.Type && other.Placement == hold.Placement && other.MandatoryDecisionGroup == hold.MandatoryDecisionGroup
	})
	if at >= 0 {
		hold.Since = former[at].Since
	}
	r.record.Holds = append(r.record.Holds, hold)
}
