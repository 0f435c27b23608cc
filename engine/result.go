package engine

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/internal/group"
	"github.com/berth-project/berth/engine/ledger"
	"github.com/berth-project/berth/engine/program"
)

// Result is the outcome of one run.
type Result struct {
	Key fleet.Key
	// Decided is false if the placement is misconfigured, or its last edit is held. Groups then has the previous decisions.
	Decided bool
	// Groups are the decision groups by index. There is at least one, and each has at least one slice.
	Groups []group.Group
	// Regrouped are the selected clusters that had to leave a group above its bound, sorted.
	Regrouped []string
	// Fingerprint identifies the group strategy of the groups; empty if it is unknown.
	Fingerprint string
	// Selected is the number of clusters in all groups.
	Selected int
	// Penalized is how many of them have a PreferNoSelect taint that is not tolerated.
	Penalized int
	// Details is what readers see of each selected cluster beside its name, by name. Without a decision, the stored details
	// stay.
	Details map[string]Detail
	// ByScore is set if decisions have scores and are sorted by them. A change of scores alone is written at most once per
	// ScoreInterval.
	ByScore       bool
	ScoreInterval time.Duration
	// Satisfied and Misconfigured are conditions of every placement. Without a decision, Satisfied is only for a placement that
	// does not have it.
	Satisfied, Misconfigured Condition
	// Held is the condition of a placement with a disruption policy; otherwise it is zero. ScoresExpired and SpreadExceeded are
	// stored from the first time that they are True. Without a decision, the stored conditions stay.
	Held, ScoresExpired, SpreadExceeded Condition
	// EditHeld is the condition of a placement whose last edit is held; otherwise it is zero.
	EditHeld Condition
	// ExpressionHeld is the condition of a placement with selected clusters that stay although an expression fails on them; otherwise it is
	// zero.
	ExpressionHeld Condition
	// Failing are the selected clusters on which an expression failed because a claim or score is missing, sorted.
	Failing []string
	// Unknown is what the spec names and no cluster in reach has, if that is reported.
	Unknown []program.Reference
	// RecheckAt is the first instant at which the result may change without a change of an object; zero for never.
	RecheckAt time.Time
	// Retained are the selected clusters that stay, or stay in their groups, only because of the grace after a start, sorted.
	Retained []string
	// Ledger is to be stored with the placement. Without a decision, the stored ledger stays.
	Ledger ledger.Ledger
	// Trace has the verdict on every cluster.
	Trace *Trace
}

// Detail is what readers see of a selected cluster beside its name.
type Detail struct {
	// Tier is the name of its tier.
	Tier  string
	Score int64
}

// Condition is a condition of a placement without its times.
type Condition struct {
	Type    string
	Status  metav1.ConditionStatus
	Reason  string
	Message string
}

// Problem returns why nothing was decided; empty for a decision.
func (r *Result) Problem() string {
	switch {
	case r.Decided:
		return ""
	case r.EditHeld.Type != "":
		return "the last edit is held: " + r.EditHeld.Message
	default:
		return "the placement is misconfigured: " + r.Misconfigured.Message
	}
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
