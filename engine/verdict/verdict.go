// Package verdict has the closed set of answers to "is this cluster selected, and if not, why": one code for each answer, with
// typed details. A verdict is a normal outcome, never an error.
package verdict

import "time"

// Code is the answer for one cluster. The zero Code is no answer.
type Code uint8

const (
	// Selected means that the cluster is in the decisions. No argument.
	Selected Code = iota + 1

	// OutsideSets means that the cluster is in none of the sets that are bound to the namespace of the placement and, if
	// spec.clusterSets is given, listed there. No argument.
	OutsideSets

	// Withdrawing means that the cluster is in a set that the placement may use, by a set, binding or label that is being withdrawn,
	// or that another label or claim of it is. Such a cluster stays where it is selected, and is selected nowhere else. No argument.
	Withdrawing

	// Terminating means that the cluster is being deleted. No argument.
	Terminating

	// Mismatch means that no predicate matched. The argument is Mismatches.
	Mismatch

	// TooCostly means that an expression exceeded its cost limit on this cluster, which was not selected before. The argument is
	// Mismatches.
	TooCostly

	// OutsideTiers means that a predicate matched and that the cluster is in no tier. No argument.
	OutsideTiers

	// Tainted means that a taint is not tolerated. The argument is a Taint.
	Tainted

	// Expired means that the time for which a taint was tolerated is over. The argument is a Taint.
	Expired

	// ConstraintBlocked means that the cluster passed every filter and ranks high enough, and that anti-affinity or a spread
	// constraint blocks it beside the selected clusters. The argument is a Constraint.
	ConstraintBlocked

	// Waiting means that the cluster passed every filter, is in an earlier tier than a selected cluster, and has not qualified
	// long enough to displace it. The argument is a Wait.
	Waiting

	// Outranked means that the cluster passed every filter and that the selected clusters rank before it. The argument is a
	// Rank.
	Outranked

	// Held means that the cluster stays selected although the run would remove it, or although it is unknown whether it
	// qualifies. Either the disruption policy holds it, or an expression exceeded its cost limit, or its set is
	// unreadable. The argument is a Hold.
	Held

	// Kept means that the placement is misconfigured or its last edit is held, and that the cluster stays selected. No argument.
	Kept

	// Undecided means that the placement is misconfigured or its last edit is held, and that the cluster was not selected before. No
	// argument.
	Undecided
)

// String returns the code's name, a stable word that users may match on.
func (c Code) String() string {
	switch c {
	case Selected:
		return "Selected"
	case OutsideSets:
		return "OutsideSets"
	case Withdrawing:
		return "Withdrawing"
	case Terminating:
		return "Terminating"
	case Mismatch:
		return "Mismatch"
	case TooCostly:
		return "TooCostly"
	case OutsideTiers:
		return "OutsideTiers"
	case Tainted:
		return "Tainted"
	case Expired:
		return "Expired"
	case ConstraintBlocked:
		return "Capped"
	case Waiting:
		return "Waiting"
	case Outranked:
		return "Beaten"
	case Held:
		return "Held"
	case Kept:
		return "Kept"
	case Undecided:
		return "Undecided"
	default:
		return "Unknown"
	}
}

// IsSelected reports whether a cluster with this code is in the decisions.
func (c Code) IsSelected() bool { return c == Selected || c == Held || c == Kept }

// Verdict is the answer for one cluster. Argument is nil if the code has none.
type Verdict struct {
	Code     Code
	Argument Argument
}

// Argument is the typed detail of a verdict.
//
//sumtype:decl
type Argument interface{ argument() }

// Mismatches has the first clause that the cluster does not meet, for each predicate in the order of the spec.
type Mismatches []Clause

// Clause is one requirement of a predicate: a label or claim requirement, or an expression.
type Clause struct {
	// Predicate is the index in spec.predicates.
	Predicate int
	// Text is the clause as it is written, such as "label region in (eu, us)".
	Text string
	// Problem is the evaluation error of an expression; empty if it is only not met.
	Problem string
}

// Taint is the taint that rejects a cluster.
type Taint struct {
	Key, Value, Effect string
	// ExpiredAt is when the last matching toleration expired; zero if no toleration matched.
	ExpiredAt time.Time
}

// Constraint is what blocks a cluster beside the selected clusters.
type Constraint struct {
	Term Term
	// Domain is the cluster's value of the label or claim. Lacks is set if the cluster has none.
	Domain string
	Lacks  bool
	// TakenBy is the selected cluster of the same domain, the first by name; empty for spread.
	TakenBy string
}

// Term is a term of anti-affinity or, if Spread is set, a spread constraint.
type Term struct {
	Spread bool
	// Index is the position in AntiAffinity or Spread of program.Program.
	Index int
	// Topology is the label or claim of the term, such as "label zone".
	Topology string
}

// String returns the term as messages name it, such as "anti-affinity over label zone".
func (t Term) String() string {
	if t.Spread {
		return "spread over " + t.Topology
	}
	return "anti-affinity over " + t.Topology
}

// Wait is how long a cluster of an earlier tier waits.
type Wait struct {
	// Until is when it may displace others, if it qualifies until then.
	Until time.Time
}

// Rank is the rank of an outranked cluster.
type Rank struct {
	// Position counts from 1 over all clusters that passed the filters.
	Position int
	// Score is the cluster's total, Cut the total of the selected cluster that ranks last.
	Score, Cut int64
	// Penalized is set if a PreferNoSelect taint that is not tolerated ranks the cluster after all clusters without one.
	Penalized bool
}

// Hold is why a cluster is held.
type Hold struct {
	// Problem is why it is unknown whether the cluster qualifies; empty if only the disruption policy holds it.
	Problem string
	// Underlying is the verdict that the cluster would have without the disruption policy; zero if the policy does not hold it.
	Underlying Code
	// Until is when the disruption policy releases the cluster, if nothing changes; zero for never, and if Underlying is zero.
	Until time.Time
}

func (Mismatches) argument() {}
func (Taint) argument()      {}
func (Constraint) argument() {}
func (Wait) argument()       {}
func (Rank) argument()       {}
func (Hold) argument()       {}
