package engine

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/group"
	"github.com/berth-project/berth/engine/ledger"
)

// Result is everything that one run of Schedule or Keep has to say.
type Result struct {
	Key fleet.Key
	// Decided is false where nothing was decided and Groups holds what was decided before.
	Decided bool
	// Groups are the decision groups by index; there is at least one, and each has at least one slice.
	Groups []group.Group
	// Fingerprint identifies the group strategy that the groups follow; empty where that is not known.
	Fingerprint string
	// Selected is the number of clusters in all groups.
	Selected int
	// Satisfied and Misconfigured are the two conditions of the placement. Where nothing was decided, Satisfied only
	// serves a placement that never had one.
	Satisfied, Misconfigured Condition
	// LookAgain is the earliest instant at which the result may change though no object does; zero for never.
	LookAgain time.Time
	// Ledger is what the placement is to remember. Where nothing was decided it means nothing: what is stored stays.
	Ledger ledger.Ledger
	// Trace says how the result came about.
	Trace *Trace
}

// Condition is a condition of a placement, without what depends on when it is stored.
type Condition struct {
	Type    string
	Status  metav1.ConditionStatus
	Reason  string
	Message string
}

// Clusters returns the names of the selected clusters, group by group and slice by slice.
func (r *Result) Clusters() []string {
	out := make([]string, 0, r.Selected)
	for _, group := range r.Groups {
		for _, slice := range group.Slices {
			out = append(out, slice.Clusters...)
		}
	}
	return out
}

// Slices returns the result as the decisions that the next run starts from.
func (r *Result) Slices() []fleet.Slice {
	var out []fleet.Slice
	for index, group := range r.Groups {
		for _, slice := range group.Slices {
			out = append(out, fleet.Slice{
				Number: slice.Number, Group: group.Name, GroupIndex: index,
				Strategy: r.Fingerprint, Clusters: slice.Clusters,
			})
		}
	}
	return out
}
