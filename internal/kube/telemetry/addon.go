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
	set := &Set{}
	out := newAddOns(set, read)
	set.Register(registry)
	for _, verb := range plan.Verbs() {
		for _, result := range WorkResults() {
			out.writes.WithLabelValues(verb.String(), result)
		}
	}
	return out
}

func newAddOns(set *Set, read func() RolloutState) *AddOns {
	set.Scraped("berth_addon_rollouts", "Rollouts of add-ons, one for each placement of a ClusterManagementAddOn, by phase.", func(emit Emit) {
		state := read()
		for _, phase := range rollout.Phases() {
			emit(float64(state.Rollouts[phase]), string(phase))
		}
	}, Label{Name: "phase", Values: Texts(rollout.Phases())})
	set.Scraped("berth_addon_clusters", "Clusters that the placements of add-ons select, by how far the configuration has come there. A cluster counts once for each add-on.",
		func(emit Emit) {
			state := read()
			for _, at := range rollout.States() {
				emit(float64(state.Clusters[at]), string(at))
			}
		}, Label{Name: "state", Values: Texts(rollout.States())})
	return &AddOns{writes: set.Counter("berth_addon_writes_total",
		"Attempted writes of ManagedClusterAddOns, by verb and result: stored, conflict (another client wrote first), refused (the API server refuses the object) or failed.",
		Label{Name: "verb", Values: Texts(plan.Verbs())}, Label{Name: "result", Values: WorkResults()})}
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
		add := func(kind, reason string) {
			out = append(out, NewEvent(kind, reason, ActionRolledOut, "Placement %s/%s: %s", progression.Namespace, progression.Name, is.Message))
		}
		switch is.Reason {
		case addonv1alpha1.ProgressingReasonProgressing:
			add(corev1.EventTypeNormal, ReasonRolloutStarted)
		case addonv1alpha1.ProgressingReasonCompleted:
			add(corev1.EventTypeNormal, ReasonRolloutFinished)
		case addonv1alpha1.ProgressingReasonFailed:
			add(corev1.EventTypeWarning, ReasonRolloutBreached)
		}
	}
	return out
}
