package explain

import (
	"fmt"
	"time"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/program"
	"github.com/berth-project/berth/engine/verdict"
)

// Cluster is why one cluster is selected or not.
type Cluster struct {
	Name string `json:"name"`
	// Verdict is the name of a verdict.Code, a stable word for programs.
	Verdict string `json:"verdict"`
	// Selected is set if the cluster is in the decisions.
	Selected bool `json:"selected"`
	// Why is the reason in a few words; empty for Selected.
	Why string `json:"why,omitempty"`
	// Group is the decision group of a selected cluster.
	Group *Group `json:"group,omitempty"`
	// Sets are the sets of the cluster that the placement may choose from.
	Sets []string `json:"sets,omitempty"`
	// Clauses has, for each predicate, the first clause that the cluster does not meet.
	Clauses []Clause `json:"clauses,omitempty"`
	// Taint is the taint that rejects the cluster.
	Taint *Taint `json:"taint,omitempty"`
	// Constraint is the term that blocks the cluster beside the selected clusters.
	Constraint *Constraint `json:"constraint,omitempty"`
	// Until is when a hold or a wait ends; absent if it does not end, and for other verdicts.
	Until *time.Time `json:"until,omitempty"`
	// Underlying is the verdict that a held cluster would have.
	Underlying string `json:"would,omitempty"`
	// Tier is the name of the tier that the cluster is in.
	Tier string `json:"tier,omitempty"`
	// Penalized is set if a PreferNoSelect taint that is not tolerated ranks the cluster after all clusters without one.
	Penalized bool `json:"reluctant,omitempty"`
	// Scores, Total and Rank are set for a cluster that passed every filter; Rank counts from 1 and is 0 for others.
	Scores []Score `json:"scores,omitempty"`
	Total  int64   `json:"total,omitempty"`
	Rank   int     `json:"rank,omitempty"`
	// Outranked compares an outranked cluster with the last selected cluster.
	Outranked *Outranked `json:"beaten,omitempty"`
	// Fix is what would make the cluster selected, if the caller requested it.
	Fix *Fix `json:"fix,omitempty"`
}

// Group is a decision group.
type Group struct {
	Index int    `json:"index"`
	Name  string `json:"name,omitempty"`
}

// Clause is a part of a predicate that a cluster does not meet.
type Clause struct {
	// Predicate is the index in spec.predicates.
	Predicate int    `json:"predicate"`
	Text      string `json:"text"`
	// Has is the cluster's value of the label or claim; Lacks is set if it has none. An expression has neither.
	Has   string `json:"has,omitempty"`
	Lacks bool   `json:"lacks,omitempty"`
	// Problem is why an expression could not be evaluated.
	Problem string `json:"problem,omitempty"`
}

// Taint is a taint that rejects a cluster.
type Taint struct {
	Text  string     `json:"text"`
	Since *time.Time `json:"since,omitempty"`
	// ExpiredAt is when the last matching toleration expired.
	ExpiredAt *time.Time `json:"expiredAt,omitempty"`
	// Nearest is the closest toleration of the placement, and why it does not match.
	Nearest string `json:"nearest,omitempty"`
}

// Constraint is a blocking term of anti-affinity or spread constraint.
type Constraint struct {
	Text   string `json:"text"`
	Domain string `json:"domain,omitempty"`
	// Lacks is set if the cluster does not have the label or claim.
	Lacks bool `json:"lacks,omitempty"`
	// By is the selected cluster of the same domain.
	By string `json:"by,omitempty"`
}

// Score is the score of one prioritizer: its input, its value and its weight.
type Score struct {
	Prioritizer string `json:"prioritizer"`
	Raw         string `json:"raw"`
	Value       int64  `json:"value"`
	Weight      int64  `json:"weight"`
}

// Outranked is the distance to the last selected cluster. It is 0 if only the name decided.
type Outranked struct {
	// By is absent if the reader may not see that cluster.
	By     string `json:"by,omitempty"`
	Points int64  `json:"points"`
}

// cluster explains one cluster. It names only other clusters that the reader may see.
func (e *explainer) cluster(id fleet.ID, visible func(string) bool) Cluster {
	found := e.verdict(id)
	out := Cluster{
		Name: e.trace.Snapshot.Name(id), Verdict: found.Code.String(), Selected: found.Code.IsSelected(),
		Sets: e.trace.Sets(id), Tier: e.trace.Tier(id), Penalized: e.trace.Penalized(id),
	}
	if group, ok := e.groups[out.Name]; ok {
		out.Group = &group
	}
	e.addScores(id, &out)
	e.addReason(id, found, &out, visible)
	if found.Code != verdict.Selected && found.Code != verdict.Kept {
		out.Why = Why(redacted(found, visible))
	}
	if found.Code == verdict.Outranked && e.last == nil {
		out.Why = "no cluster is wanted"
	}
	return out
}

// verdict returns the verdict, with the rank of an outranked cluster.
func (e *explainer) verdict(id fleet.ID) verdict.Verdict {
	out := e.trace.VerdictWithoutRank(id)
	if out.Code == verdict.Outranked {
		out.Argument = verdict.Rank{
			Position: e.ranks[id], Score: e.trace.Ranking.Totals[e.positions[id]], Cut: e.trace.Ranking.Cut, Penalized: e.trace.Penalized(id),
		}
	}
	return out
}

// redacted removes the name of a cluster that the reader may not see from a verdict.
func redacted(v verdict.Verdict, visible func(string) bool) verdict.Verdict {
	if argument, ok := v.Argument.(verdict.Constraint); ok && argument.TakenBy != "" && !visible(argument.TakenBy) {
		argument.TakenBy = "another cluster"
		v.Argument = argument
	}
	return v
}

// addScores adds the scores, total and rank of a candidate.
func (e *explainer) addScores(id fleet.ID, out *Cluster) {
	rank, candidate := e.ranks[id]
	if !candidate {
		return
	}
	ranking, at := e.trace.Ranking, e.positions[id]
	out.Rank, out.Total = rank, ranking.Totals[at]
	for _, column := range ranking.Columns {
		by := column.Prioritizer
		out.Scores = append(out.Scores, Score{Prioritizer: by.Name(), Raw: e.rawText(by, id), Value: int64(column.Values[at]), Weight: by.Weight})
	}
}

// addReason adds the details of a verdict.
func (e *explainer) addReason(id fleet.ID, found verdict.Verdict, out *Cluster, visible func(string) bool) {
	switch argument := found.Argument.(type) {
	case verdict.Mismatches:
		for _, clause := range argument {
			out.Clauses = append(out.Clauses, e.clause(id, clause))
		}
	case verdict.Taint:
		out.Taint = e.taint(id, argument)
	case verdict.Constraint:
		out.Constraint = &Constraint{Text: argument.Term.String(), Domain: argument.Domain, Lacks: argument.Lacks}
		if argument.TakenBy != "" && visible(argument.TakenBy) {
			out.Constraint.By = argument.TakenBy
		}
	case verdict.Wait:
		out.Until = timeOrNil(argument.Until)
	case verdict.Hold:
		out.Until = timeOrNil(argument.Until)
		if argument.Underlying != 0 {
			out.Underlying = argument.Underlying.String()
		}
	case verdict.Rank:
		if e.last == nil {
			return
		}
		out.Outranked = &Outranked{Points: argument.Cut - argument.Score}
		if visible(e.last.Cluster) {
			out.Outranked.By = e.last.Cluster
		}
	}
}

// clause adds to a clause what the cluster has instead. A predicate's expressions are evaluated only on clusters that match its
// selector, so the first requirement that is not met is the clause.
func (e *explainer) clause(id fleet.ID, in verdict.Clause) Clause {
	out := Clause{Predicate: in.Predicate, Text: in.Text, Problem: in.Problem}
	cluster := e.trace.Snapshot.Cluster(id)
	for _, requirement := range e.trace.Program.Predicates[in.Predicate].Selector {
		if !requirement.Matches(cluster) {
			value, has := cluster.Value(requirement.Source, requirement.Key)
			out.Has, out.Lacks = value, !has
			break
		}
	}
	return out
}

func (e *explainer) taint(id fleet.ID, in verdict.Taint) *Taint {
	out := &Taint{Text: TaintText(in.Key, in.Value, in.Effect), ExpiredAt: timeOrNil(in.ExpiredAt)}
	for _, taint := range e.trace.Snapshot.Cluster(id).Object.Spec.Taints {
		if taint.Key == in.Key && string(taint.Effect) == in.Effect {
			out.Since = timeOrNil(taint.TimeAdded.Time)
		}
	}
	out.Nearest = nearest(in, e.trace.Program.Tolerations)
	return out
}

// nearest returns the toleration of the key that is closest to matching a taint, and why it does not match: its time, its
// value or its effect, in this order. It is empty if no toleration has the key.
func nearest(taint verdict.Taint, tolerations []program.Toleration) string {
	best, missing := "", 4
	for _, toleration := range tolerations {
		if toleration.Key != "" && toleration.Key != taint.Key {
			continue
		}
		value := toleration.Exists || toleration.Value == taint.Value
		effect := toleration.Effect == "" || toleration.Effect == clusterv1.TaintEffect(taint.Effect)
		away, why := 3, "has another value and another effect"
		switch {
		case value && effect:
			away, why = 0, "lasts "+durationText(toleration.Seconds)
		case effect:
			away, why = 1, "has another value"
		case value:
			away, why = 2, "has another effect"
		}
		if away < missing {
			best, missing = tolerationText(toleration)+", which "+why, away
		}
	}
	return best
}

func durationText(seconds *int64) string {
	if seconds == nil {
		return "without a limit"
	}
	return fmt.Sprintf("%d seconds", *seconds)
}

func tolerationText(in program.Toleration) string {
	key := in.Key
	if key == "" {
		key = "every key"
	}
	if !in.Exists {
		key += "=" + in.Value
	}
	if in.Effect != "" {
		key += ":" + string(in.Effect)
	}
	return key
}

func timeOrNil(at time.Time) *time.Time {
	if at.IsZero() {
		return nil
	}
	at = at.UTC()
	return &at
}
