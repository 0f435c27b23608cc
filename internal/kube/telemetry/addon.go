package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
	"github.com/berth-project/berth/internal/addon/plan"
	"github.com/berth-project/berth/rollout"
)

// AddOns are the metrics of the controller that installs add-ons.
type AddOns struct{ writes *prometheus.CounterVec }

// NewAddOns registers the metrics, with every series at 0. It must be called once per registry. Each scrape calls read.
func NewAddOns(registry prometheus.Registerer, read func() RolloutState) *AddOns {
	c := &metricSet{}
	out := newAddOns(c, read)
	registry.MustRegister(c.collectors...)
	for _, verb := range plan.Verbs() {
		for _, result := range workResults() {
			out.writes.WithLabelValues(verb.String(), result)
		}
	}
	return out
}

func newAddOns(c *metricSet, read func() RolloutState) *AddOns {
	c.scraped("berth_addon_rollouts", "Rollouts of add-ons, one for each placement of a ClusterManagementAddOn, by phase.", func(set emit) {
		state := read()
		for _, phase := range rollout.Phases() {
			set(float64(state.Rollouts[phase]), string(phase))
		}
	}, Label{Name: "phase", Values: texts(rollout.Phases())})
	c.scraped("berth_addon_clusters", "Clusters that the placements of add-ons select, by how far the configuration has come there. A cluster counts once for each add-on.",
		func(set emit) {
			state := read()
			for _, at := range rollout.States() {
				set(float64(state.Clusters[at]), string(at))
			}
		}, Label{Name: "state", Values: texts(rollout.States())})
	return &AddOns{writes: c.counter("berth_addon_writes_total",
		"Attempted writes of ManagedClusterAddOns, by verb and result: stored, conflict (another client wrote first), refused (the API server refuses the object) or failed.",
		Label{Name: "verb", Values: texts(plan.Verbs())}, Label{Name: "result", Values: workResults()})}
}

// AddWrite counts an attempted write of a ManagedClusterAddOn.
func (a *AddOns) AddWrite(verb plan.Verb, result string) {
	a.writes.WithLabelValues(verb.String(), result).Inc()
}

// AddOnEvents returns the events of a status of an add-on that was stored over another one: one for each rollout that finished or failed.
func AddOnEvents(before, after *addonv1alpha1.ClusterManagementAddOnStatus) []Event {
	reasons := map[addonv1alpha1.PlacementRef]string{}
	for i := range before.InstallProgressions {
		if found := meta.FindStatusCondition(before.InstallProgressions[i].Conditions, addonv1alpha1.ManagedClusterAddOnConditionProgressing); found != nil {
			reasons[before.InstallProgressions[i].PlacementRef] = found.Reason
		}
	}
	var out []Event
	for i := range after.InstallProgressions {
		progression := &after.InstallProgressions[i]
		is := meta.FindStatusCondition(progression.Conditions, addonv1alpha1.ManagedClusterAddOnConditionProgressing)
		if is == nil || reasons[progression.PlacementRef] == is.Reason {
			continue
		}
		note := truncate("Placement " + progression.Namespace + "/" + progression.Name + ": " + is.Message)
		switch is.Reason {
		case addonv1alpha1.ProgressingReasonProgressing:
			out = append(out, Event{Type: corev1.EventTypeNormal, Reason: ReasonRolloutStarted, Action: ActionRolledOut, Note: note})
		case addonv1alpha1.ProgressingReasonCompleted:
			out = append(out, Event{Type: corev1.EventTypeNormal, Reason: ReasonRolloutFinished, Action: ActionRolledOut, Note: note})
		case addonv1alpha1.ProgressingReasonFailed:
			out = append(out, Event{Type: corev1.EventTypeWarning, Reason: ReasonRolloutBreached, Action: ActionRolledOut, Note: note})
		}
	}
	return out
}
