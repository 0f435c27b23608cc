// Package metrics owns the metrics of the agent: names, types, labels, and the page that serves them.
//
// It measures nothing. The invariant: the series of a metric are bounded, and none names a work or an object.
package metrics

// Types of metrics, as Prometheus calls them.
const (
	Counter   = "counter"
	Gauge     = "gauge"
	Histogram = "histogram"
)

// The values of labels.
const (
	// StageApplied and StageHealthy are how far a work is.
	StageApplied = "applied"
	StageHealthy = "healthy"

	// VerbApply, VerbRelease and VerbDelete are the writes of objects.
	VerbApply   = "apply"
	VerbRelease = "release"
	VerbDelete  = "delete"

	// StateApplying to StateLost are the states of works.
	StateApplying    = "applying"
	StateFailed      = "failed"
	StateProgressing = "progressing"
	StateDegraded    = "degraded"
	StateHealthy     = "healthy"
	StateDeleting    = "deleting"
	StateLost        = "lost"

	resultSuccess = "success"
	resultFailure = "failure"
)

// maxResources bounds the values of the label resource. Further resources are otherResource.
const (
	maxResources  = 50
	otherResource = "other"
)

// Definition is one metric for the documentation.
type Definition struct {
	Name, Help, Type string
	Labels           []Label
}

// Label is a label of a metric: its values, or a text about them where they are no fixed set.
type Label struct {
	Name   string
	Values []string
	Any    string
}

func states() []string {
	return []string{StateApplying, StateFailed, StateProgressing, StateDegraded, StateHealthy, StateDeleting, StateLost}
}

func worksDefinition() Definition {
	return Definition{
		Name: "berth_agent_works", Type: Gauge, Labels: []Label{{Name: "state", Values: states()}},
		Help: "Works of the cluster by state: not applied yet, failed to apply, applied and on the way, degraded, healthy, being " +
			"deleted, or lost by the hub",
	}
}

func applyDefinition() Definition {
	return Definition{
		Name: "berth_agent_work_apply_seconds", Type: Histogram, Labels: []Label{{Name: "stage", Values: []string{StageApplied, StageHealthy}}},
		Help: "Time from when a set wrote a work on the hub until the work was applied, and until its objects were healthy; of works of " +
			"sets, by the clocks of both",
	}
}

func writesDefinition() Definition {
	return Definition{
		Name: "berth_agent_writes_total", Type: Counter,
		Labels: []Label{
			{Name: "verb", Values: []string{VerbApply, VerbRelease, VerbDelete}},
			{Name: "resource", Any: "the resource and its group, such as `deployments.apps`: at most 50, and `other`"},
			{Name: "result", Values: []string{resultSuccess, resultFailure}},
		},
		Help: "Writes of the objects of works on the member",
	}
}

func repairsDefinition() Definition {
	return Definition{
		Name: "berth_agent_drift_repairs_total", Type: Counter, Help: "Objects of works that another client had changed " +
			"and that the agent put back",
	}
}

func heldDefinition() Definition {
	return Definition{
		Name: "berth_agent_evictions_held", Type: Gauge,
		Help: "Works that the hub has lost and whose objects stay, because the hub has lost many works at once; the condition WorkEvictionHeld " +
			"of the ManagedCluster then is True",
	}
}

func usageDefinition() Definition {
	return Definition{
		Name: "berth_agent_usage_reports_total", Type: Counter, Labels: []Label{{Name: "result", Values: []string{resultSuccess, resultFailure}}},
		Help: "Measurements of the member with --report-usage. A failure is a member that was not read completely, or a hub " +
			"that did not store the scores",
	}
}

// Definitions returns every metric of the agent, by name.
func Definitions() []Definition {
	return []Definition{repairsDefinition(), heldDefinition(), applyDefinition(), usageDefinition(), worksDefinition(), writesDefinition()}
}
