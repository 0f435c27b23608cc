package enginetest

import (
	"cmp"
	"fmt"
	"time"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/fleet"
)

const (
	selectorBudget  = 10_000_000
	placementBudget = 15_000_000
)

// poll asks selectors and their expressions about clusters.
type poll struct {
	*run

	// spent is what expressions have cost.
	spent int
	// dead is the first problem that an expression has with every cluster.
	dead string
	// asked are the clusters, by resource, of which scores were asked for that are out of date.
	asked inquiry
	// again are the instants at which the answers may change by themselves.
	again []time.Time
}

// question is an expression and the cluster that it is asked about.
type question struct{ cluster, text string }

// reply is what the expression says, and which scores it asked for to say so.
type reply struct {
	celenv.Outcome

	resources []string
}

// inquiry is sets of clusters by the name of a resource.
type inquiry map[string]map[string]bool

// ballot is what a selector says of the clusters whose names, labels and claims match.
type ballot struct {
	answers map[string]celenv.Answer
	problem string
	// over says that the expressions cost more than a placement may spend, and where; then problem tells.
	over bool
}

// ballot asks about one cluster after the other, by name.
func (p *poll) ballot(selector clusterv1beta1.ClusterSelector, among map[string]bool) ballot {
	out := ballot{answers: map[string]celenv.Answer{}}
	if p.spent > placementBudget {
		return out
	}
	var matching []string
	for _, name := range names(among) {
		if p.selects(selector, name) {
			matching = append(matching, name)
		}
	}
	for n, name := range matching {
		answer, why := p.expressions(selector.CelSelector.CelExpressions, name)
		if p.spent > placementBudget {
			out.over = true
			out.problem = fmt.Sprintf("%s: the expressions of a placement may cost 15000000 units in one decision, and these had cost %d after %d of %d clusters: "+
				"select by labels, claims or names instead, make them simpler, or divide the placement. "+
				"The decisions stay as they are, and it is tried again once something that the placement reads changes", why, p.spent, n+1, len(matching))
			return out
		}
		out.answers[name] = answer
		if answer == celenv.Failed && out.problem == "" {
			out.problem = why
		}
	}
	return out
}

// blame notes that something fails on every cluster that it was asked about, if it does.
func (p *poll) blame(what string, b ballot) {
	if b.over {
		p.dead = cmp.Or(p.dead, what+"."+b.problem)
		return
	}
	for _, answer := range b.answers {
		if answer != celenv.Failed {
			return
		}
	}
	if len(b.answers) > 0 && p.dead == "" {
		p.dead = fmt.Sprintf("%s.%s on every one of %d clusters", what, b.problem, len(b.answers))
	}
}

// expressions evaluates one after the other until one does not say yes.
func (p *poll) expressions(texts []string, name string) (answer celenv.Answer, problem string) {
	budget := selectorBudget
	for i, text := range texts {
		if budget <= 0 {
			return celenv.TooCostly, ""
		}
		said := p.ask(question{name, text})
		p.note(name, said.resources)
		budget -= int(said.Cost)  //nolint:gosec // a cost is at most a million or so
		p.spent += int(said.Cost) //nolint:gosec // as above
		if p.spent > placementBudget {
			return said.Answer, fmt.Sprintf("celExpressions[%d]", i)
		}
		if said.Answer != celenv.Yes {
			return said.Answer, fmt.Sprintf("celExpressions[%d]: %s", i, said.Problem)
		}
	}
	return celenv.Yes, ""
}

// ask evaluates an expression on the whole object. It says the same whoever is selected, so it is asked once.
func (r *run) ask(about question) reply {
	if known, ok := r.said[about]; ok {
		return known
	}
	expression, err := r.env.Compile(about.text)
	if err != nil {
		panic(err)
	}
	var out reply
	out.Outcome = expression.EvalWhole(celenv.Subject{
		Cluster: fleet.NewCluster(r.w.Clusters[about.cluster]), Now: r.w.Now,
		Score: func(resource string) *fleet.Score {
			out.resources = append(out.resources, resource)
			if found := r.w.Scores[ScoreKey{about.cluster, resource}]; found != nil {
				return fleet.NewScore(found)
			}
			return nil
		},
	})
	r.said[about] = out
	return out
}

// note enters the scores that an answer is built on: those that are out of date are counted, the others will be.
func (p *poll) note(cluster string, resources []string) {
	for _, resource := range resources {
		object := p.w.Scores[ScoreKey{cluster, resource}]
		switch {
		case object == nil || object.Status.ValidUntil == nil:
		case object.Status.ValidUntil.Time.Before(p.w.Now):
			if p.asked[resource] == nil {
				p.asked[resource] = map[string]bool{}
			}
			p.asked[resource][cluster] = true
		default:
			p.again = append(p.again, object.Status.ValidUntil.Add(time.Nanosecond))
		}
	}
}
