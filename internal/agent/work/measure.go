package work

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/agent/metrics"
)

// moved counts the work in another state. An empty state is no work.
func (p *pass) moved(to string) {
	p.controller.Metrics.Moved(p.state.phase, to)
	p.state.phase = to
}

// phaseOf returns the state of a work by its status.
func phaseOf(status workv1.ManifestWorkStatus, generation int64) string {
	is := func(kind string, want metav1.ConditionStatus) bool {
		found := meta.FindStatusCondition(status.Conditions, kind)
		return found != nil && found.ObservedGeneration == generation && found.Status == want
	}
	switch {
	case is(workv1.WorkApplied, metav1.ConditionFalse):
		return metrics.StateFailed
	case !is(workv1.WorkApplied, metav1.ConditionTrue):
		return metrics.StateApplying
	case is(workv1.WorkDegraded, metav1.ConditionTrue):
		return metrics.StateDegraded
	case is(workv1.WorkProgressing, metav1.ConditionFalse):
		return metrics.StateHealthy
	default:
		return metrics.StateProgressing
	}
}

// measure records how long the work of a set took, once for each generation and stage. A generation that was applied before this
// process is not measured.
func (p *pass) measure(written workv1.ManifestWorkStatus) {
	generation := p.work.Generation
	started, err := time.Parse(time.RFC3339Nano, p.work.Annotations[workv1.StartedAtAnnotation])
	if err != nil {
		return // the work belongs to no set
	}
	phase, before := phaseOf(written, generation), phaseOf(p.before(), generation)
	applied := func(phase string) bool { return phase != metrics.StateApplying && phase != metrics.StateFailed }
	if applied(phase) && !applied(before) {
		p.reached(metrics.StageApplied, started)
	}
	if phase == metrics.StateHealthy && p.state.measured[metrics.StageApplied] == generation {
		p.reached(metrics.StageHealthy, started)
	}
}

func (p *pass) reached(stage string, started time.Time) {
	if p.state.measured[stage] != p.work.Generation {
		p.state.measured[stage] = p.work.Generation
		p.controller.Metrics.Reached(stage, p.controller.Clock.Since(started))
	}
}
