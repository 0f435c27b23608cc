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
	// Regrouped are the selected clusters that had to leave a group above its bound, sorted.
	Regrouped []string
	// Fingerprint identifies the group strategy that the groups follow; empty where that is not known.
	Fingerprint string
	// Selected is the number of clusters in all groups.
	Selected int
	// Penalized is how many of them have a PreferNoSelect taint that is not tolerated.
	Penalized int
	// Details is what readers are shown of each selected cluster, by name; clusters that are not in it show nothing. Where
	// nothing was decided it means nothing: what is stored stays.
	Details map[string]Detail
	// ByScore says that decisions are shown with their scores and in the order of these, rewritten for nothing but changed
	// scores once per ScoreInterval at most.
	ByScore       bool
	ScoreInterval time.Duration
	// Satisfied and Misconfigured are conditions that every placement has. Where nothing was decided, Satisfied only
	// serves a placement that never had one.
	Satisfied, Misconfigured Condition
	// Held is the condition of a placement with a disruption policy; the zero Condition where it has none. ScoresExpired
	// serves a placement once it is True for the first time. Where nothing was decided they mean nothing: what is stored
	// stays.
	Held, ScoresExpired Condition
	// RecheckAt is the earliest instant at which the result may change though no object does; zero for never.
	RecheckAt time.Time
	// Ledger is what the placement is to remember. Where nothing was decided it means nothing: what is stored stays.
	Ledger ledger.Ledger
	// Trace says how the result came about.
	Trace *Trace
}

// Detail is what readers are shown of a selected cluster beside its name.
type Detail struct {
	// Tier is the name of its tier.
	Tier  string
	Score int64
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
