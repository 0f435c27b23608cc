package report

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/delivery/plan"
	"github.com/berth-project/berth/rollout"
)

// WorkKind is the kind of reports about one work in JSON and YAML.
const WorkKind = "WorkDelivery"

// Work is how far the delivery of one work is.
type Work struct {
	Kind    string `json:"kind"`
	Cluster string `json:"cluster"`
	Name    string `json:"name"`
	// Set is namespace/name of the set that the work belongs to; empty for a work of its own.
	Set   string        `json:"set,omitempty"`
	State rollout.State `json:"state"`
	Since *metav1.Time  `json:"since,omitempty"`
	// Unknown is why the states are those of an earlier time; empty while the agent of the cluster reports.
	Unknown string `json:"unknown,omitempty"`
	// Message is why the work has not succeeded.
	Message string   `json:"message,omitempty"`
	Failure *Failure `json:"failure,omitempty"`
	Next    string   `json:"next,omitempty"`
	// Manifests has every object of the work that the agent has reported, in the order of the work.
	Manifests []Manifest `json:"manifests"`
}

// Manifest is how one object of a work is on the member.
type Manifest struct {
	// Object names it: "Deployment shop/web".
	Object string `json:"object"`
	// Applied and Available are the status of the conditions; empty before the first report.
	Applied   metav1.ConditionStatus `json:"applied,omitempty"`
	Available metav1.ConditionStatus `json:"available,omitempty"`
	// Message is of the condition that is not as it should be.
	Message string `json:"message,omitempty"`
}

// OfWork returns the report of a work.
func OfWork(work *workv1.ManifestWork, now time.Time) Work {
	out := Work{Kind: WorkKind, Cluster: work.Namespace, Name: work.Name, Manifests: Manifests(work)}
	if namespace, set, ok := plan.SetOf(work.Labels, work.Annotations); ok {
		out.Set = namespace + "/" + set
	}
	state, since := stateOf(work, now)
	out.State, out.Since = state, timeOrNil(since)
	switch state {
	case rollout.StateSucceeded:
	case rollout.StateFailed:
		out.Failure, out.Next = failureOf(work), retried(work)
	case rollout.StateProgressing:
		out.Failure, out.Next = failureOf(work), underWay(work)
		if condition := meta.FindStatusCondition(work.Status.Conditions, workv1.WorkProgressing); condition != nil &&
			condition.Status != metav1.ConditionFalse {
			out.Message = condition.Message
		}
	default:
		out.Message, out.Next = "another client changed the spec that the set wrote", "the manager puts the spec back"
		if !work.DeletionTimestamp.IsZero() {
			out.Message, out.Next = "the work is being deleted", leaving(work)
		}
	}
	return out
}

// stateOf returns the state of a work. A work of its own always has the spec that its author wrote.
func stateOf(work *workv1.ManifestWork, now time.Time) (rollout.State, time.Time) {
	hash := work.Annotations[workv1.TemplateHashAnnotation]
	if hash == "" {
		hash = "none"
		work = work.DeepCopy()
		work.Annotations = map[string]string{workv1.TemplateHashAnnotation: hash}
	}
	return plan.StateOf(work, hash, now)
}

// Manifests returns how each object of a work is on the member.
func Manifests(work *workv1.ManifestWork) []Manifest {
	out := []Manifest{}
	for _, reported := range work.Status.ResourceStatus.Manifests {
		manifest := Manifest{Object: plan.ManifestName(reported.ResourceMeta)}
		for _, wanted := range []struct {
			kind string
			into *metav1.ConditionStatus
		}{{workv1.WorkApplied, &manifest.Applied}, {workv1.WorkAvailable, &manifest.Available}} {
			condition := meta.FindStatusCondition(reported.Conditions, wanted.kind)
			if condition == nil {
				continue
			}
			*wanted.into = condition.Status
			if condition.Status != metav1.ConditionTrue && manifest.Message == "" {
				manifest.Message = strings.TrimPrefix(condition.Message, workv1.PermanentFailurePrefix)
			}
		}
		if condition := meta.FindStatusCondition(reported.Conditions, workv1.WorkDegraded); condition != nil &&
			condition.Status == metav1.ConditionTrue {
			manifest.Message = condition.Message
		}
		out = append(out, manifest)
	}
	return out
}
