package enginetest

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/fleet"
)

const (
	selectorBudget  = 10_000_000
	placementBudget = 15_000_000
)

// evaluator evaluates selectors and their expressions.
type evaluator struct {
	*run

	// spent is the cost of the expressions so far.
	spent int
	// failure is the first problem of an expression that fails on every cluster.
	failure string
	// expired has the clusters whose expired scores were read, by resource.
	expired clustersByResource
	// rechecks are the instants at which the results may change by themselves.
	rechecks []time.Time
}

// evaluationKey is an expression and a cluster.
type evaluationKey struct{ cluster, text string }

// evaluation is the result of an expression, and the scores that it read.
type evaluation struct {
	celenv.Outcome

	resources []string
}

// clustersByResource has clusters by the name of a resource.
type clustersByResource map[string]map[string]bool

// selectorResult is the result of a selector for the clusters with matching names, labels and claims.
type selectorResult struct {
	answers map[string]celenv.Answer
	// missing are the clusters on which an expression is not true and a claim or score is missing, each with the problem.
	missing map[string]string
	problem string
	// over is set if the expressions exceeded the cost limit of the placement; problem then has the details.
	over bool
}

// evaluateSelector evaluates a selector cluster by cluster, by name.
func (e *evaluator) evaluateSelector(selector clusterv1beta1.ClusterSelector, among map[string]bool) selectorResult {
	out := selectorResult{answers: map[string]celenv.Answer{}, missing: map[string]string{}}
	if e.spent > placementBudget {
		return out
	}
	var matching []string
	for _, name := range names(among) {
		if e.selects(selector, name) {
			matching = append(matching, name)
		}
	}
	for n, name := range matching {
		answer, why := e.expressions(selector.CelSelector.CelExpressions, name, out.missing)
		if e.spent > placementBudget {
			out.over = true
			out.problem = fmt.Sprintf("%s: the expressions of a placement may cost 15000000 units in one decision, and these had cost "+
				"%d after %d of %d clusters: "+
				"select by labels, claims or names instead, make them simpler, or divide the placement. "+
				"The decisions stay as they are, and it is tried again once something that the placement reads changes", why, e.spent, n+1,
				len(matching))
			return out
		}
		out.answers[name] = answer
		if (answer == celenv.Failed || answer == celenv.Missing) && out.problem == "" {
			out.problem = why
		}
	}
	return out
}

// recordFailure records an expression that fails on every cluster.
func (e *evaluator) recordFailure(what string, b selectorResult) {
	if b.over {
		e.failure = cmp.Or(e.failure, what+"."+b.problem)
		return
	}
	for _, answer := range b.answers {
		if answer != celenv.Failed && answer != celenv.Missing {
			return
		}
	}
	if len(b.answers) > 0 && e.failure == "" {
		e.failure = fmt.Sprintf("%s.%s on every one of %d clusters", what, b.problem, len(b.answers))
	}
}

// expressions evaluates expressions until one is not true. It records the cluster if a claim or score is missing for it.
func (e *evaluator) expressions(texts []string, name string, missing map[string]string) (answer celenv.Answer, problem string) {
	budget := selectorBudget
	for i, text := range texts {
		if budget <= 0 {
			return celenv.TooCostly, ""
		}
		result := e.evaluate(evaluationKey{name, text})
		e.noteScores(name, result.resources)
		budget -= int(result.Cost)  //nolint:gosec // a cost is at most a million or so
		e.spent += int(result.Cost) //nolint:gosec // as above
		if e.spent > placementBudget {
			return result.Answer, fmt.Sprintf("celExpressions[%d]", i)
		}
		switch resource := e.emptyList(text, name); {
		case result.Answer == celenv.Missing:
			missing[name] = result.Problem
		case result.Answer == celenv.No && resource != "":
			missing[name] = "AddOnPlacementScore " + resource + " of this cluster has lost a score"
		}
		if result.Answer != celenv.Yes {
			return result.Answer, fmt.Sprintf("celExpressions[%d]: %s", i, result.Problem)
		}
	}
	return celenv.Yes, ""
}

// emptyList returns the first resource that an expression may read and that has no scores for a cluster.
func (r *run) emptyList(text, cluster string) string {
	expression, err := r.env.Compile(text)
	if err != nil {
		panic(err)
	}
	read, all := expression.Scores()
	first := ""
	for key, object := range r.w.Scores {
		if key.Cluster == cluster && len(object.Status.Scores) == 0 && (all || slices.Contains(read, key.Resource)) &&
			(first == "" || key.Resource < first) {
			first = key.Resource
		}
	}
	return first
}

// evaluate evaluates an expression on the whole object. The result does not depend on the selected clusters, so it is cached.
func (r *run) evaluate(about evaluationKey) evaluation {
	if known, ok := r.evaluated[about]; ok {
		return known
	}
	expression, err := r.env.Compile(about.text)
	if err != nil {
		panic(err)
	}
	var out evaluation
	out.Outcome = expression.EvalAllFacets(celenv.Subject{
		Cluster: fleet.NewCluster(r.w.Clusters[about.cluster]), Now: r.w.Now,
		Score: func(resource string) *fleet.Score {
			out.resources = append(out.resources, resource)
			if found := r.w.Scores[ScoreKey{about.cluster, resource}]; found != nil {
				return fleet.NewScore(found)
			}
			return nil
		},
	})
	r.evaluated[about] = out
	return out
}

// noteScores records the scores that a result depends on: expired ones are counted, others will expire.
func (e *evaluator) noteScores(cluster string, resources []string) {
	for _, resource := range resources {
		object := e.w.Scores[ScoreKey{cluster, resource}]
		switch {
		case object == nil || object.Status.ValidUntil == nil:
		case object.Status.ValidUntil.Time.Before(e.w.Now):
			if e.expired[resource] == nil {
				e.expired[resource] = map[string]bool{}
			}
			e.expired[resource][cluster] = true
		default:
			e.rechecks = append(e.rechecks, object.Status.ValidUntil.Add(time.Nanosecond))
		}
	}
}
