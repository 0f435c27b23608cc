package filter

import (
	"time"

	"github.com/bits-and-blooms/bitset"

	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/ledger"
	"github.com/berth-project/berth/engine/program"
)

// MissingHold decides how long incumbents stay on which an expression fails because a claim or score is missing. A source of claims or
// scores fails on one cluster after the other, and an expression that fails is not a false expression.
type MissingHold struct {
	Snapshot   *fleet.Snapshot
	Incumbents *bitset.BitSet
	Past       ledger.Ledger
}

// Until returns when an incumbent on which an expression fails leaves.
func (h MissingHold) Until(id fleet.ID) time.Time {
	since := ledger.Since(h.Past.Failing, h.Snapshot.Name(id), h.Snapshot.Now)
	if h.Snapshot.Rules.ExpressionHold == 0 || h.released(since) {
		return h.Snapshot.Now
	}
	return since.Add(h.Snapshot.Rules.ExpressionHold)
}

// maxClockSkew is how far ahead of the manager's clock a release may be. A later one would release what begins to fail until then.
const maxClockSkew = 5 * time.Minute

// released reports whether a user has released what began to fail at an instant.
func (h MissingHold) released(since time.Time) bool {
	until := h.Past.FailingReleased
	return !since.After(until) && !until.After(h.Snapshot.Now.Add(maxClockSkew))
}

// failsEverywhere is Rejected.FailsEverywhere, and empty where a user has released every incumbent on which the expressions fail.
func (h MissingHold) failsEverywhere(fell *Rejected, list string, index int) string {
	out := fell.FailsEverywhere(list, index)
	if out != "" && fell.limitExceeded == "" && h.releasedAll(fell) {
		return ""
	}
	return out
}

// releasedAll reports whether a user has released every incumbent on which the expressions of a predicate fail, and there is one.
func (h MissingHold) releasedAll(fell *Rejected) bool {
	found := false
	for _, to := range fell.byExpression {
		if to.Clusters[celenv.Failed].IntersectionCardinality(h.Incumbents) > 0 {
			return false
		}
		for id := range to.Clusters[celenv.Missing].Intersection(h.Incumbents).EachSet() {
			if !h.released(ledger.Since(h.Past.Failing, h.Snapshot.Name(id), h.Snapshot.Now)) {
				return false
			}
			found = true
		}
	}
	return found
}

// stays reports whether an incumbent stays now.
func (h MissingHold) stays(id fleet.ID) bool { return h.Snapshot.Now.Before(h.Until(id)) }

// incumbentsWithout adds to out the incumbents that an expression of a predicate rejected because a claim or score is missing, each with
// the problem. A list of scores that is empty, or that has lost a score, counts as missing too where the expression is false.
func (h MissingHold) incumbentsWithout(fell *Rejected, predicate program.Predicate, out map[fleet.ID]string) {
	note := func(id fleet.ID, problem string) {
		if _, known := out[id]; !known {
			out[id] = problem
		}
	}
	for n, to := range fell.byExpression {
		for id := range to.Clusters[celenv.Missing].Intersection(h.Incumbents).EachSet() {
			note(id, fell.problem(to, id))
		}
		resources, all := predicate.Expressions[n].Scores()
		if len(resources) == 0 && !all {
			continue
		}
		for id := range to.Clusters[celenv.No].Intersection(h.Incumbents).EachSet() {
			if resource, lost := h.Snapshot.LostScore(id, resources, all); lost {
				note(id, "AddOnPlacementScore "+resource+" of this cluster has lost a score")
			}
		}
	}
}
