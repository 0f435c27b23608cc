// Package verdict owns the closed set of answers to "is this cluster selected, and if not, why": one code per
// answer, each with the arguments that a reader needs. It knows nothing of how a verdict is reached. A verdict is
// a normal outcome, never an error.
package verdict

import "time"

// Code is one of the answers a placement gives about a cluster. The zero Code is no answer.
type Code uint8

const (
	// Selected says that the cluster is in the decisions. No argument.
	Selected Code = iota + 1

	// OutsideSets says that the cluster is in none of the sets that the placement may choose from: those that are
	// bound to its namespace and, if spec.clusterSets is given, named there. No argument.
	OutsideSets

	// Terminating says that the cluster is being deleted, so it is no longer offered. No argument.
	Terminating

	// Mismatch says that no predicate matched. The argument is a Mismatches: for each predicate the clause that fell.
	Mismatch

	// TooCostly says that an expression ran over its cost limit on this cluster and the cluster was not selected
	// before, so it is not admitted. The argument is a Mismatches, as for Mismatch.
	TooCostly

	// OutsideTiers says that a predicate matched and that the cluster is in none of the tiers. No argument.
	OutsideTiers

	// Tainted says that a taint is not tolerated. The argument is a Taint.
	Tainted

	// Expired says that a taint was tolerated for a time that is over. The argument is a Taint.
	Expired

	// ConstraintBlocked says that the cluster passed every filter, that it would have a place by its rank, and that it must not or
	// should not take it beside those that are selected: anti-affinity or spread is in the way. The argument is a Cap.
	ConstraintBlocked

	// Waiting says that the cluster passed every filter, is of an earlier tier than a selected one, and has not qualified
	// for long enough to displace it. The argument is a Wait.
	Waiting

	// Outranked says that the cluster passed every filter and that others rank before it. The argument is a Rank.
	Outranked

	// Held says that the cluster stays selected although the run would drop it or could not tell whether it still
	// qualifies: the disruption policy does not let it go yet, an expression ran over its cost limit, or the set that it
	// came from cannot be read. The argument is a Hold.
	Held

	// Kept says that nothing was decided because the placement is misconfigured, and that the cluster stays
	// selected as it was. No argument.
	Kept

	// Undecided says that nothing was decided because the placement is misconfigured, and that the cluster was not
	// selected before. No argument.
	Undecided
)

// String returns the code's name, a stable word that users may match on.
func (c Code) String() string {
	switch c {
	case Selected:
		return "Selected"
	case OutsideSets:
		return "OutsideSets"
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

// IsSelected says whether a cluster with this code is in the decisions.
func (c Code) IsSelected() bool { return c == Selected || c == Held || c == Kept }

// Verdict is the answer for one cluster. Argument is nil where the code documents none.
type Verdict struct {
	Code     Code
	Argument Argument
}

// Argument is the typed detail of a verdict.
//
//sumtype:decl
type Argument interface{ argument() }

// Mismatches holds, for each predicate in spec order, the first clause that the cluster fails.
type Mismatches []Clause

// Clause is one requirement of a predicate: a label or claim requirement, or an expression.
type Clause struct {
	// Predicate is the index in spec.predicates.
	Predicate int
	// Text is the clause as a user would write it, such as "label region in (eu, us)".
	Text string
	// Problem is the evaluation error of an expression; empty where the clause is just not met.
	Problem string
}

// Taint names the taint that keeps a cluster out.
type Taint struct {
	Key, Value, Effect string
	// ExpiredAt is when the last matching toleration ran out; zero where none matches or it never tolerates.
	ExpiredAt time.Time
}

// Constraint says what keeps a cluster from standing beside those that are selected.
type Constraint struct {
	// Constraint is what is in the way, such as "anti-affinity over label zone" or "spread over label region".
	Constraint string
	// Domain is the value of the label or claim that puts the cluster in its domain. Lacks is set where it has none.
	Domain string
	Lacks  bool
	// TakenBy is the selected cluster that takes up the domain, the first by name; empty for spread.
	TakenBy string
}

// Wait says how long a cluster of an earlier tier waits.
type Wait struct {
	// Until is the instant from which on it may displace others, if it qualifies until then.
	Until time.Time
}

// Rank is where a cluster that others beat stands.
type Rank struct {
	// Position counts from 1 over all clusters that passed the filters.
	Position int
	// Score is the cluster's total, Cut the total of the last cluster selected.
	Score, Cut int64
	// Penalized is set where a PreferNoSelect taint that is not tolerated ranks the cluster after all without one.
	Penalized bool
}

// Hold says why a cluster is held.
type Hold struct {
	// Problem is why nobody can tell whether the cluster qualifies; empty where it is the disruption policy alone that
	// holds it.
	Problem string
	// Underlying is the verdict that the cluster would have if the disruption policy did not hold it; the zero Code where it
	// does not.
	Underlying Code
	// Until is when the disruption policy lets the cluster go, if nothing changes; zero for never, and where Fell is zero.
	Until time.Time
}

func (Mismatches) argument() {}
func (Taint) argument()      {}
func (Constraint) argument() {}
func (Wait) argument()       {}
func (Rank) argument()       {}
func (Hold) argument()       {}
