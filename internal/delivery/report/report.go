package report

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	rolloutv1alpha1 "github.com/berth-project/berth/api/rollout/v1alpha1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/decision"
	deliveryplan "github.com/berth-project/berth/internal/delivery/plan"
	"github.com/berth-project/berth/rollout"
)

// Kind is the kind of reports in JSON and YAML.
const Kind = "Delivery"

// Report is how far the delivery of a set is.
type Report struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind"`
	// Set is namespace/name.
	Set string `json:"set"`
	// Phase and Message are those of the condition Progressing.
	Phase   string `json:"phase,omitempty"`
	Message string `json:"message,omitempty"`
	// Unwritten names the first clusters whose work cannot be written, each with the reason, as the manager reports it; empty without any.
	Unwritten string `json:"unwritten,omitempty"`
	// Observed means that the manager has planned the present spec, and that its record is of the present template.
	Observed bool `json:"-"`
	// CurrentRevision is the template of the last finished rollout, UpdateRevision the present one.
	CurrentRevision string                                     `json:"currentRevision,omitempty"`
	UpdateRevision  string                                     `json:"updateRevision,omitempty"`
	Summary         workv1alpha1.ManifestWorkReplicaSetSummary `json:"summary"`
	Placements      []Placement                                `json:"placements"`
	// Decisions are what people decided about the rollout of the present template; absent for nothing, and where the reader may not read
	// the RolloutControl. The manager serves none, as they name clusters.
	Decisions *rolloutv1alpha1.RolloutControlSpec `json:"decisions,omitempty"`
	// Clusters has every cluster that the reader may see, by name. It is absent where the reader may read no work.
	Clusters []Cluster `json:"clusters,omitempty"`
	// Lost are the clusters that started with the present template, and were lost or left before they succeeded, by name: at most 400.
	Lost []LostCluster `json:"lost,omitempty"`
	// Hidden counts the clusters that the reader may not see.
	Hidden int `json:"hidden,omitempty"`
}

// LostCluster is a cluster that is no longer selected, or was not for some time.
type LostCluster struct {
	Cluster   string                              `json:"cluster"`
	Placement string                              `json:"placement"`
	Phase     clusterv1alpha1.ClusterRolloutPhase `json:"phase"`
	Reason    string                              `json:"reason"`
}

// Placement is how far the rollout over one placement is.
type Placement struct {
	Name     string                      `json:"name"`
	Strategy clusterv1alpha1.RolloutType `json:"strategy"`
	Paused   bool                        `json:"paused,omitempty"`
	Phase    string                      `json:"phase,omitempty"`
	Message  string                      `json:"message,omitempty"`
	Selected int                         `json:"selected"`
	Updated  int                         `json:"updated"`
	// Works counts the works, also those that leave, and those that stay for lack of a decision.
	Works int `json:"works"`
	// Group is the first group that is not done.
	Group string `json:"group,omitempty"`
	// Done counts the clusters that succeeded, InFlight those under way, Failed those that failed or timed out, LeftOut those that the
	// rollout passes over: the template cannot be rendered for them, or their failure is forgiven.
	Done     int `json:"done"`
	LeftOut  int `json:"leftOut,omitempty"`
	InFlight int `json:"inFlight,omitempty"`
	Failed   int `json:"failed,omitempty"`
	// Lost counts those that started and were no longer selected before they succeeded. They count as failures, and are no part of Selected.
	Lost int `json:"lost,omitempty"`
	// Next is what a user does to let a rollout go on that stands still; empty while it moves by itself.
	Next string `json:"next,omitempty"`
}

// Cluster is how far the delivery to one cluster is, why, and what happens next.
type Cluster struct {
	Cluster   string        `json:"cluster"`
	Placement string        `json:"placement,omitempty"`
	Group     string        `json:"group,omitempty"`
	State     rollout.State `json:"state"`
	Code      rollout.Code  `json:"code"`
	// Started is when the cluster was given the present template; absent before that.
	Started *metav1.Time `json:"started,omitempty"`
	// Since is when the state began, Until when it ends by itself: the end of the soak time or the deadline.
	Since *metav1.Time `json:"since,omitempty"`
	Until *metav1.Time `json:"until,omitempty"`
	// Work is the name of the work in the namespace of the cluster.
	Work string `json:"work,omitempty"`
	// Unknown is why the state is that of an earlier time; empty while the agent of the cluster reports.
	Unknown string `json:"unknown,omitempty"`
	Message string `json:"message,omitempty"`
	// Failure is the first object that fails; absent where none does.
	Failure *Failure `json:"failure,omitempty"`
	// Next is what happens next, Retry when a refused write is sent again.
	Next  string       `json:"next,omitempty"`
	Retry *metav1.Time `json:"retry,omitempty"`
}

// Failure is why an object of a work fails.
type Failure struct {
	// Manifest names the object: "Deployment shop/web". It is empty where the agent reports a failure of the work as a whole.
	Manifest string `json:"manifest,omitempty"`
	// Condition is Applied where the agent could not write the object, and Degraded where the object fails.
	Condition string `json:"condition"`
	Message   string `json:"message"`
	// Permanent means that the same write fails again.
	Permanent bool         `json:"permanent,omitempty"`
	Since     *metav1.Time `json:"since,omitempty"`
}

// New returns the report of a set from what its plan depends on.
func New(in deliveryplan.Input) Report {
	plan := deliveryplan.Plan(in)
	out := FromStatus(in.Set)
	out.Summary = plan.Status.Summary
	out.setCondition(plan.Status.Conditions)
	out.setLost(plan.Status.Rollout)
	for i := range out.Placements {
		placement := &out.Placements[i]
		for _, counts := range plan.Status.PlacementsSummary {
			placement.count(counts)
		}
		for _, step := range plan.Rollouts {
			if step.Placement == placement.Name {
				placement.read(step, in.Set)
			}
		}
	}
	if !finishRecorded(in, &plan) {
		out.awaitRecord()
	}
	b := newBuilder(in, plan)
	for _, verdict := range plan.Verdicts {
		out.Clusters = append(out.Clusters, b.cluster(verdict))
	}
	return out
}

// SetControl sets the decisions that count for the template of UpdateRevision; nil for none. Record is that of the set: a return at once
// that has ended by it does not count.
func (r *Report) SetControl(control *rolloutv1alpha1.RolloutControl, record *clusterv1alpha1.RolloutRecord) {
	if control == nil {
		return
	}
	out := control.Spec.DeepCopy()
	out.Approvals = slices.DeleteFunc(out.Approvals, func(one rolloutv1alpha1.GroupApproval) bool {
		return one.Revision != r.UpdateRevision || !deliveryplan.Concerns(record, one.Revision, one.StartedTime)
	})
	out.Forgiven = slices.DeleteFunc(out.Forgiven, func(one rolloutv1alpha1.ForgivenCluster) bool {
		return one.Revision != r.UpdateRevision || !deliveryplan.Concerns(record, one.Revision, one.StartedTime)
	})
	out.ReturnNow, out.WithoutFormer = r.ofTemplate(out.ReturnNow, record), r.ofTemplate(out.WithoutFormer, record)
	out.WithoutMissing = r.ofTemplate(out.WithoutMissing, record)
	if deliveryplan.HasReturned(control, record) {
		out.ReturnNow = nil
	}
	for i := range r.Placements {
		r.Placements[i].Paused = r.Placements[i].Paused || out.Paused
	}
	decided := out.ReturnNow != nil || out.WithoutFormer != nil || out.WithoutMissing != nil
	if decided || out.Paused || len(out.Approvals)+len(out.Forgiven) > 0 {
		r.Decisions = out
	}
}

// ofTemplate returns a decision if it counts for the template of UpdateRevision; else nil.
func (r *Report) ofTemplate(
	decided *rolloutv1alpha1.TemplateDecision, record *clusterv1alpha1.RolloutRecord,
) *rolloutv1alpha1.TemplateDecision {
	if decided == nil || decided.Revision != r.UpdateRevision || !deliveryplan.Concerns(record, decided.Revision, decided.StartedTime) {
		return nil
	}
	return decided
}

// finishRecorded reports whether the status of a set has the end of the rollout, where the rollout finishes. Until then no cluster
// returns to the template.
func finishRecorded(in deliveryplan.Input, plan *deliveryplan.Result) bool {
	stored, planned := in.Set.Status.Rollout, plan.Status.Rollout
	switch {
	case planned == nil || planned.FinishedTime == nil:
		return true
	case stored == nil:
		return in.Set.Status.CurrentRevision == in.Hash
	default:
		return stored.Revision == planned.Revision && stored.FinishedTime != nil
	}
}

// awaitRecord takes the end of a rollout back that is not stored yet.
func (r *Report) awaitRecord() {
	const finished, waiting = string(rollout.PhaseFinished), string(rollout.PhaseWaiting)
	if r.Phase == finished {
		r.Phase, r.Message = waiting, "Every cluster is done, and the manager has not recorded the end of the rollout yet"
	}
	for i := range r.Placements {
		if of := &r.Placements[i]; of.Phase == finished {
			of.Phase = waiting
		}
	}
}

// FromStatus returns the report of a set from its status alone, for readers that may read no work.
func FromStatus(set *workv1alpha1.ManifestWorkReplicaSet) Report {
	out := Report{
		Kind: Kind, Set: set.Namespace + "/" + set.Name, Summary: set.Status.Summary,
		CurrentRevision: set.Status.CurrentRevision, UpdateRevision: set.Status.UpdateRevision, Placements: []Placement{},
	}
	out.setCondition(set.Status.Conditions)
	out.Unwritten = deliveryplan.Unwritten(set)
	out.setLost(set.Status.Rollout)
	out.Observed = observed(set)
	seen := map[string]bool{}
	for _, ref := range set.Spec.PlacementRefs {
		if seen[ref.Name] {
			continue
		}
		seen[ref.Name] = true
		placement := Placement{
			Name: ref.Name, Strategy: cmp.Or(ref.RolloutStrategy.Type, clusterv1alpha1.All),
			Paused: ref.RolloutStrategy.Paused,
		}
		for _, counts := range set.Status.PlacementsSummary {
			placement.count(counts)
		}
		out.Placements = append(out.Placements, placement)
	}
	return out
}

// observed reports whether the status of a set is of its present spec.
func observed(set *workv1alpha1.ManifestWorkReplicaSet) bool {
	condition, record := meta.FindStatusCondition(set.Status.Conditions, workv1alpha1.Progressing), set.Status.Rollout
	if condition == nil || condition.ObservedGeneration != set.Generation || record == nil {
		return false
	}
	template, _, _ := strings.Cut(record.Revision, "-")
	return template == set.Status.UpdateRevision
}

// setLost takes the clusters that are lost or left from a record.
func (r *Report) setLost(record *clusterv1alpha1.RolloutRecord) {
	r.Lost = nil
	if record == nil || record.FinishedTime != nil {
		return
	}
	for _, one := range record.Clusters {
		if one.Phase == clusterv1alpha1.ClusterLost || one.Phase == clusterv1alpha1.ClusterLeft {
			r.Lost = append(r.Lost, LostCluster{Cluster: one.Name, Placement: one.Placement, Phase: one.Phase, Reason: one.Reason})
		}
	}
}

func (r *Report) setCondition(conditions []metav1.Condition) {
	if condition := meta.FindStatusCondition(conditions, workv1alpha1.Progressing); condition != nil {
		r.Phase, r.Message = condition.Reason, condition.Message
	}
}

// count takes the counts of the status, where they are about the placement.
func (p *Placement) count(of workv1alpha1.PlacementSummary) {
	if of.Name == p.Name {
		p.Selected, p.Updated, p.Works = of.Summary.DesiredTotal, of.Summary.Updated, of.Summary.Total
	}
}

// Total returns what Updated is counted of: the selected clusters, or all works where more stay for lack of a decision.
func (p *Placement) Total() int {
	if p.Updated <= p.Selected {
		return p.Selected
	}
	return p.Works
}

// read takes the step of the placement's rollout.
func (p *Placement) read(step deliveryplan.Rollout, set *workv1alpha1.ManifestWorkReplicaSet) {
	p.Phase, p.Message = string(step.Phase), step.Message
	p.Failed, p.Lost, p.LeftOut, p.Done, p.InFlight = step.Failures, step.Lost, step.Skipped, 0, step.InFlight-len(step.Apply)
	for _, verdict := range step.Verdicts {
		if verdict.Code == rollout.Done {
			p.Done++
		}
	}
	if p.Next = Remedy(set, step); step.Group.Index != decision.NoIndex {
		p.Group = step.Group.String()
	}
}

// Find returns a cluster by name.
func (r *Report) Find(cluster string) (*Cluster, bool) {
	for i := range r.Clusters {
		if r.Clusters[i].Cluster == cluster {
			return &r.Clusters[i], true
		}
	}
	return nil, false
}

// Done counts the clusters that succeeded, over all placements.
func (r *Report) Done() int {
	out := 0
	for _, placement := range r.Placements {
		out += placement.Done
	}
	return out
}

func timeOrNil(at time.Time) *metav1.Time {
	if at.IsZero() {
		return nil
	}
	return &metav1.Time{Time: at.UTC()}
}
