package console

import (
	"context"
	"errors"

	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/internal/console/model"
	"github.com/berth-project/berth/internal/delivery/report"
)

// ErrNotFound reports an object that does not exist, or that the caller may not see. Both are the same to a page.
var ErrNotFound = errors.New("there is no such object that you may see")

// Session is what a caller may read and do. A nil part is not available to the caller.
type Session struct {
	// User names the caller. The number of streams is limited for each user.
	User   string
	Reader Reader
	// Deliveries reads the rollouts of sets of works.
	Deliveries Deliveries
	// Previewer computes what a change would move.
	Previewer Previewer
	// Writer carries out the writes that a page offers.
	Writer Writer
	// Flags are the flags of the kubectl commands that pages show, such as "-f fleet.yaml".
	Flags string
	// Place names what is read: the address of a hub, or files.
	Place string
}

// Reader reads a fleet as its caller may see it. It is safe for concurrent use.
type Reader interface {
	// State returns the fleet after its last change.
	State(ctx context.Context) (*model.State, error)
	// Changed returns a channel that is closed when the state changes that State returns now.
	Changed() <-chan struct{}
	// Explain returns the verdicts of the last run of a placement. With a cluster, it returns the verdict on that cluster alone, with the
	// changes that would select it.
	Explain(ctx context.Context, key fleet.Key, cluster string) (*explain.Explanation, error)
	// History returns the latest changes of the decisions of a placement.
	History(ctx context.Context, key fleet.Key) (*explain.History, error)
}

// Deliveries reads how far sets of works are. It is safe for concurrent use.
type Deliveries interface {
	// Delivery returns how far a set of works is.
	Delivery(ctx context.Context, set fleet.Key) (*report.Report, error)
}

// Change is what a preview proposes.
type Change struct {
	// YAML has the objects to store.
	YAML string `json:"yaml"`
	// Cordon and Remove name clusters, Drain has label selectors, and Delete has objects as KIND/NAME.
	Cordon []string `json:"cordon"`
	Drain  []string `json:"drain"`
	Remove []string `json:"remove"`
	Delete []string `json:"delete"`
}

// Previewer computes what a change would move. It stores nothing, and is safe for concurrent use.
type Previewer interface {
	Preview(ctx context.Context, change Change) (*Preview, error)
}

// Preview is what a change does to the decisions.
type Preview struct {
	// Moved counts the placements whose decisions move, Lost and Gained their clusters in all.
	Moved, Lost, Gained int
	Placements          []PlacementMove
}

// PlacementMove is what a change does to a placement.
type PlacementMove struct {
	Key fleet.Key
	// Summary has the selected clusters before and after, in words.
	Summary string
	Moves   []Move
}

// Move is the clusters that a placement gains, loses or regroups for one reason.
type Move struct {
	// Sign is + for gained, - for lost and ~ for regrouped clusters.
	Sign         string
	Verdict, Why string
	Clusters     []string
}

// Writer carries out the writes that pages offer, with the rights of its caller. It is safe for concurrent use.
type Writer interface {
	// Accept accepts or denies a cluster, and returns what was done.
	Accept(ctx context.Context, cluster string, accepted bool) (done string, err error)
	// Roll pauses, resumes or approves a rollout, and returns what was done.
	Roll(ctx context.Context, change RolloutChange) (done string, err error)
}

// RolloutChange is a change of the rollouts of a set of works.
type RolloutChange struct {
	Set fleet.Key
	// Placement is the placement whose rollout changes; empty for all of the set.
	Placement string
	// Action is pause, resume or approve.
	Action string
	// Group is the decision group to approve.
	Group string
}
