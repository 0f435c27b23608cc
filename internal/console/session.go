package console

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/internal/console/model"
	"github.com/berth-project/berth/internal/delivery/plan"
	"github.com/berth-project/berth/internal/delivery/report"
	"github.com/berth-project/berth/internal/kube/hold"
	"github.com/berth-project/berth/internal/source/completion"
	"github.com/berth-project/berth/internal/status"
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
	// Members reads what is about single clusters.
	Members Members
	// Previewer computes what a change would move.
	Previewer Previewer
	// Writer carries out the writes that a page offers.
	Writer Writer
	// Hub reads how the hub and its managers are.
	Hub HubReader
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
	// Verdict returns the verdict of the last run of a placement on a cluster, without a fix.
	Verdict(ctx context.Context, key fleet.Key, cluster string) (*explain.Cluster, error)
	// History returns the latest changes of the decisions of a placement.
	History(ctx context.Context, key fleet.Key) (*explain.History, error)
}

// Members reads what is about single clusters that the caller may see. It is safe for concurrent use.
type Members interface {
	// Member returns the lease and the works of a cluster.
	Member(ctx context.Context, cluster string) (*Member, error)
}

// Member is the lease of a cluster and what is put on it. A part that the caller may not see has a problem instead.
type Member struct {
	// Renewed is when the agent renewed its lease last; zero if there is no lease, or the caller may not see it.
	Renewed      time.Time
	LeaseProblem string
	// Verified is when the agent last verified the statuses of all works; zero if that is not known.
	Verified time.Time
	// Works are the works on the cluster, by name. More is how many further works there are.
	Works        []Work
	More         int
	WorksProblem string
}

// ReportLease reports when the lease of a cluster was renewed last and its works were verified, or why that is not known. It returns an
// error that is neither a missing lease nor a missing permission.
func (m *Member) ReportLease(cluster string, renewed, verified *metav1.MicroTime, err error) error {
	switch {
	case err == nil && renewed != nil:
		m.Renewed = renewed.Time
		if verified != nil {
			m.Verified = verified.Time
		}
	case err == nil, apierrors.IsNotFound(err):
		m.LeaseProblem = "There is no lease: no agent has reported yet, or the hub reads the cluster without an agent."
	case apierrors.IsForbidden(err):
		m.LeaseProblem = "You may not get the lease in the namespace " + cluster + "."
	default:
		return fmt.Errorf("reading the lease of the cluster %s: %w", cluster, err)
	}
	return nil
}

// MaxWorks is how many works of a cluster a page shows.
const MaxWorks = 50

// ReportWorks reports the works of a cluster: the first by name, and how many more there are. Unread is the number of works that are not
// in the list.
func (m *Member) ReportWorks(works []workv1.ManifestWork, unread int, now time.Time) {
	slices.SortFunc(works, func(a, b workv1.ManifestWork) int { return strings.Compare(a.Name, b.Name) })
	shown := min(len(works), MaxWorks)
	for i := range works[:shown] {
		m.Works = append(m.Works, NewWork(&works[i], now))
	}
	m.More = unread + len(works) - shown
}

// Work is a work on a cluster.
type Work struct {
	report.Work

	// Set is the set that the work is of; its name is empty for a work of its own. Placements are those that selected the cluster.
	Set        fleet.Key
	Placements []string
	// Created is when the work was created.
	Created time.Time
}

// NewWork returns a work as pages show it.
func NewWork(work *workv1.ManifestWork, now time.Time) Work {
	out := Work{Work: report.OfWork(work, now), Created: work.CreationTimestamp.Time}
	if namespace, name, ok := plan.SetOf(work.Labels, work.Annotations); ok {
		out.Set = fleet.Key{Namespace: namespace, Name: name}
	}
	if names := work.Annotations[workv1.PlacementsAnnotation]; names != "" {
		out.Placements = strings.Split(names, ",")
	}
	return out
}

// HubReader reads how a hub and its managers are. It is safe for concurrent use.
type HubReader interface {
	// Hub returns how the hub is. The error is status.ErrNotPermitted if the caller may see nothing of it.
	Hub(ctx context.Context) (*status.Hub, error)
	// Graces returns what is gone and still counts, of the objects that the caller may see; none while no manager leads.
	Graces(ctx context.Context) []hold.Hold
}

// Deliveries reads how far sets of works are. It is safe for concurrent use.
type Deliveries interface {
	// Delivery returns how far a set of works is.
	Delivery(ctx context.Context, set fleet.Key) (*report.Report, error)
	// Past returns what is stored about the past of a set of works that Delivery returns.
	Past(ctx context.Context, set fleet.Key) (*model.Past, error)
}

// Change is what a preview proposes.
type Change struct {
	// YAML has the objects to store.
	YAML string `json:"yaml"`
	// Cordon and Remove name clusters, and Drain has label selectors.
	Cordon []string `json:"cordon"`
	Drain  []string `json:"drain"`
	Remove []string `json:"remove"`
}

// Previewer computes what a change would move. It stores nothing, and is safe for concurrent use.
type Previewer interface {
	// Preview returns what a change moves. The error is a FaultsError if the YAML cannot be used.
	Preview(ctx context.Context, change Change) (*Preview, error)
	// Complete returns what may follow in a YAML text, on a line from 0 and behind a number of characters.
	Complete(ctx context.Context, text string, row, column int) (completion.Result, error)
}

// Fault is a fault of a YAML text.
type Fault struct {
	// Line is the line of the fault, from 1.
	Line int    `json:"line"`
	Text string `json:"text"`
}

// FaultsError is every fault of a YAML text.
type FaultsError []Fault

// Error lists the faults, one a line.
func (f FaultsError) Error() string {
	lines := make([]string, 0, len(f))
	for _, fault := range f {
		lines = append(lines, fmt.Sprintf("line %d: %s", fault.Line, fault.Text))
	}
	return strings.Join(lines, "\n")
}

// Preview is what a change does to the decisions.
type Preview struct {
	// Moved counts the placements whose decisions move, Lost and Gained their clusters in all.
	Moved, Lost, Gained int
	Placements          []PlacementMove
	// Held describes what the hub would not follow: edits that are held, and brakes that engage.
	Held []string
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
