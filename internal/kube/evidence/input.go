package evidence

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	"github.com/berth-project/berth/decision"
	"github.com/berth-project/berth/rollout"
)

// maxNamed bounds the clusters in flight of an ordered rollout, and the names of each phase in a record.
const maxNamed = 200

// Input is what a rollout is run from. It is read-only.
type Input struct {
	// Record is what was stored; nil before the first run, or before the upgrade to a manager that keeps one.
	Record *clusterv1alpha1.RolloutRecord
	// Revision is the hash of the change.
	Revision string
	// Overrides is the hash of the overrides in the change; empty for none.
	Overrides string
	// Continues means that the stored record is of the same template with other overrides: what it has shown so far counts on.
	Continues bool
	// Finished means that the change is known to be rolled out although there is no record of it.
	Finished bool
	// Placements are in the order in which they rule.
	Placements []Placement
	// Clusters are those that are selected or have something of the rollout, by name.
	Clusters []Cluster
	// Members are what is known of the members by cluster. A cluster without an entry is healthy.
	Members map[string]Member
	// Forgiven reports whether a person decided that the failure of a cluster does not count; nil for none.
	Forgiven func(cluster string) bool
	// Passes reports whether a person passed a mandatory group of a placement; nil for none.
	Passes func(placement string, group clusterv1alpha1.MandatoryDecisionGroup) bool
	// WithoutMissing means that a person lets the rollout finish without the clusters that are missing.
	WithoutMissing bool
	// Hold changes the steps before clusters go on record: it lets no cluster start under the placements for which it returns true. nil is
	// for none.
	Hold func(steps []rollout.Step) (frozen []bool)
	Now  time.Time
}

// Placement is a placement over which the change is rolled out.
type Placement struct {
	Name string
	// Strategy is the strategy with the pause and the approvals that count now.
	Strategy *clusterv1alpha1.RolloutStrategy
	// Decided are the groups of the decision. Ruled are the same groups with the clusters that the placement rules.
	Decided, Ruled rollout.Groups
	// Returning means that the change is taken back from the clusters that have it: one without it is not late, and starts anew later.
	Returning bool
	// Complete means that a cluster which is not in the decision is not selected.
	Complete bool
	// Elsewhere counts the clusters of the decision that belong to another rollout, or get nothing. They are not missed at the end.
	Elsewhere int
	// Generation is that of the placement, DecidedGeneration that of its decision; 0 where that is unknown.
	Generation, DecidedGeneration int64
	// UID is that of the placement: one of the same name may be made anew.
	UID types.UID
}

// NoPlacement is the position of a cluster that no placement rules.
const NoPlacement = -1

// Cluster is how far the change has come on a cluster.
type Cluster struct {
	Name string
	// Placement is the position of the placement that rules the cluster, or NoPlacement. Group is its group there.
	Placement int
	Group     decision.GroupKey
	State     rollout.State
	// Since is when the state began by the report of the agent; zero where that is unknown.
	Since time.Time
	// Started is when the change was written; zero where that is unknown.
	Started time.Time
	// Message is the failure that the agent reports.
	Message string
	// Former is the position of the placement that ruled a cluster which no placement rules now, or NoPlacement.
	Former int
	// Leaves means that no placement selects the cluster, and that what it has goes with this run.
	Leaves bool
	// Held means that no placement selects the cluster for lack of a decision: it is not known whether it left.
	Held bool
}

// Member is what is known of a member apart from the change.
type Member struct {
	// Gone means that there is no ManagedCluster, Denied that the hub does not accept it.
	Gone, Denied bool
	// Unavailable means that the cluster is not known to be Available.
	Unavailable bool
	// Tainted is when the last taint was put on that takes the cluster away from placements; zero for none.
	Tainted time.Time
	// Renewed is when the manager last saw a sign of life; zero where the cluster gives none.
	Renewed time.Time
}

// healthy reports whether the member is as a cluster should be.
func (m Member) healthy() bool { return !m.Gone && !m.Denied && !m.Unavailable }

// Output is what to do and what to store.
type Output struct {
	// Steps has the step of each placement.
	Steps []rollout.Step
	// Record is the next record.
	Record *clusterv1alpha1.RolloutRecord
	// Begins are the clusters that start and that the stored record has not: they get the change once the record is stored.
	Begins map[string]bool
	// Restart are the clusters that started and lack the change.
	Restart map[string]bool
	// Departs means that the record counts clusters that leave with this run: what they have must go in the same step as the record is stored,
	// or it counts them again or never.
	Departs bool
	// Breached is the placement that was breached when it was taken out, and that holds the others; empty for none.
	Breached string
	// Until is when to run again although nothing else happens; zero for never.
	Until time.Time
}
