package plan

import (
	"time"

	rolloutv1alpha1 "github.com/berth-project/berth/api/rollout/v1alpha1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/decision"
	"github.com/berth-project/berth/internal/kube/evidence"
	"github.com/berth-project/berth/internal/kube/reading"
	"github.com/berth-project/berth/rollout"
)

// Input is what a plan is made from. It is read-only.
type Input struct {
	Set *workv1alpha1.ManifestWorkReplicaSet
	// Hash is the TemplateHash of the set's template.
	Hash string
	// Placements are the placements of the spec that exist, by name.
	Placements map[string]Placement
	// Works are all works with the label of the set, in any order, whole or stripped.
	Works []*workv1.ManifestWork
	// Faults are the last refusals of the API server, by cluster.
	Faults map[string]Fault
	// Kept are the hashes of the earlier templates that the caller can still write.
	Kept map[string]bool
	// Unkept is why the present template could not be stored, and what to do; empty where it is stored or where that is not known.
	Unkept string
	// Rendered is what the template becomes on each cluster, Former what the template of status.currentRevision becomes. A cluster
	// without an entry gets the template itself. A Renderer makes them. Both are nil for a set without overrides, and for a reader that may
	// not read clusters: a work that was rendered from the template then counts as current.
	Rendered, Former map[string]Rendering
	// Undeliverable is why no agent fetches works for a cluster, by cluster. Nothing is written for it: the namespace of its name may be that
	// of another user.
	Undeliverable map[string]string
	// Members are what is known of the clusters of the rollout's record; a cluster without an entry is healthy.
	Members map[string]evidence.Member
	// Unknown is why what the works of a cluster report is of an earlier time, by cluster. It is for reports alone: no plan reads it.
	Unknown map[string]string
	// Control is what people decided about the rollout; nil for nothing.
	Control *rolloutv1alpha1.RolloutControl
	// FinishedBefore means that a rollout of the present template has finished before.
	FinishedBefore bool
	// Invalid is what is wrong with the overrides; empty for valid ones. No cluster starts with invalid overrides.
	Invalid string
	// Obstacle is the ReturnObstacle between the present template and that of status.currentRevision.
	Obstacle string
	Now      time.Time
}

// Rendering is what a template becomes on one cluster.
type Rendering struct {
	// Hash is the TemplateHash of the rendered spec.
	Hash string
	// Size is how many bytes its manifests have together.
	Size int
	// Failure is why an override cannot be applied; empty where they all can. The cluster keeps the work that it has and is left out
	// of the rollout.
	Failure string
}

// Placement is a placement and what it decided.
type Placement = reading.Placement

// Fault is why the last write of a work was not stored. Its hash is that of the template that the write has.
type Fault = evidence.Fault

// Result is what to write now and what to report.
type Result struct {
	// Writes are the changes of works: metadata first, then the works that change, then those that go.
	Writes []Write
	// Status is the status of the set. Its size does not depend on the number of clusters.
	Status workv1alpha1.ManifestWorkReplicaSetStatus
	// Begins means that the record of the status has clusters that start. They have no write yet: plan again once the status is stored.
	Begins bool
	// Departs means that the status counts works that go with this plan: store it right after the writes, or send none of them.
	Departs bool
	// Until is the next instant at which the plan may change although nothing else does; zero for never.
	Until time.Time
	// Rollouts has the step of each placement, in the order of the spec.
	Rollouts []Rollout
	// Verdicts has every cluster that is selected or has a work of the set, by name.
	Verdicts []Verdict
}

// Rollout is the state of the rollout over one placement.
type Rollout struct {
	Placement string
	rollout.Step

	// Message is the state of the rollout in one sentence.
	Message string
}

// Verdict is how far the delivery to one cluster is, and why.
type Verdict struct {
	Cluster string
	// Placement rules the cluster; empty for a cluster that no placement of the spec selects.
	Placement string
	Group     decision.GroupKey
	Code      rollout.Code
	State     rollout.State
	// Since is when the state began, Until when it ends by itself; zero where that is unknown.
	Since, Until time.Time
	// Work is the name of the work; empty without one.
	Work string
	// Message is the first failure, or what the cluster waits for; empty for a cluster that succeeded.
	Message string
}
