package enginetest

import (
	"fmt"
	"maps"
	"time"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/fleet"
)

const (
	selectorBudget  = 10_000_000
	placementBudget = 2_000_000_000
)

// passage is what the predicates let through. Guests pass only because they are selected already.
type passage struct {
	in, held, guests map[string]bool
	dead             string
}

// predicates tries every predicate on every candidate. Clusters that are held since their set cannot be read pass.
func (r *run) predicates() passage {
	out := passage{in: map[string]bool{}, held: map[string]bool{}, guests: maps.Clone(r.scope.held)}
	costly := map[string]bool{}
	left := placementBudget
	for i, predicate := range r.spec.Predicates {
		tried, failed, problem := 0, 0, ""
		for _, name := range names(r.scope.candidates) {
			cluster := r.w.Clusters[name]
			want := predicate.RequiredClusterSelector
			if r.scope.held[name] || !labelsMatch(want.LabelSelector, cluster) || !claimsMatch(want.ClaimSelector, cluster) {
				continue
			}
			answer, why := r.expressions(want.CelSelector.CelExpressions, name, &left)
			tried++
			switch answer {
			case celenv.Yes:
				out.in[name] = true
			case celenv.TooCostly:
				costly[name] = true
			case celenv.Failed:
				failed++
				if problem == "" {
					problem = why
				}
			case celenv.No:
			}
		}
		if out.dead == "" && len(predicate.RequiredClusterSelector.CelSelector.CelExpressions) > 0 && tried > 0 && failed == tried {
			out.dead = fmt.Sprintf("predicates[%d].%s on every one of %d clusters", i, problem, tried)
		}
	}
	r.settle(&out, costly)
	return out
}

// settle says what becomes of clusters that no predicate matched.
func (r *run) settle(out *passage, costly map[string]bool) {
	for name := range r.scope.candidates {
		switch {
		case out.in[name]:
		case len(r.spec.Predicates) == 0 || r.scope.held[name]:
			out.in[name] = true
		case costly[name] && r.seats[name]:
			out.in[name], out.held[name], out.guests[name] = true, true, true
		case costly[name]:
			r.verdicts[name] = "TooCostly"
		default:
			r.verdicts[name] = "Mismatch"
		}
	}
}

// expressions evaluates one after the other on the whole object until one does not say yes.
func (r *run) expressions(texts []string, name string, left *int) (answer celenv.Answer, problem string) {
	budget := min(selectorBudget, *left)
	for i, text := range texts {
		if budget <= 0 {
			return celenv.TooCostly, ""
		}
		expression, err := r.env.Compile(text)
		if err != nil {
			panic(err)
		}
		said := expression.EvalWhole(celenv.Subject{
			Cluster: fleet.NewCluster(r.w.Clusters[name]), Now: r.w.Now,
			Score: func(resource string) *fleet.Score { return r.asked(name, resource) },
		})
		budget -= int(said.Cost) //nolint:gosec // a cost is at most a million or so
		*left -= int(said.Cost)  //nolint:gosec // as above
		if said.Answer != celenv.Yes {
			return said.Answer, fmt.Sprintf("celExpressions[%d]: %s", i, said.Problem)
		}
	}
	return celenv.Yes, ""
}

// asked is a score that an expression asks for. It looks different once it is out of date.
func (r *run) asked(name, resource string) *fleet.Score {
	found := r.w.Scores[ScoreKey{name, resource}]
	if found == nil {
		return nil
	}
	if until := found.Status.ValidUntil; until != nil && !until.Time.Before(r.w.Now) {
		r.again = append(r.again, until.Add(time.Nanosecond))
	}
	return fleet.NewScore(found)
}

// taints drops the clusters with a taint that is not tolerated, and counts those of them that are not held.
func (r *run) taints(in, held map[string]bool) (stay map[string]bool, fell int) {
	stay = map[string]bool{}
	for name := range in {
		why, ends := r.standing(name)
		if why != "" {
			r.verdicts[name] = why
			if !held[name] && !r.scope.held[name] {
				fell++
			}
			continue
		}
		stay[name] = true
		r.again = append(r.again, ends...)
	}
	return stay, fell
}

// standing says what the first taint that is not tolerated makes of a cluster, or when the tolerations end.
func (r *run) standing(name string) (verdict string, ends []time.Time) {
	for _, taint := range r.w.Clusters[name].Spec.Taints {
		if taint.Effect == "NoSelectIfNew" && r.seats[name] {
			continue
		}
		forever, until := r.tolerance(taint)
		switch {
		case forever, taint.Effect == "PreferNoSelect" && !r.w.Now.Before(until):
		case until.IsZero():
			return "Tainted", nil
		case !r.w.Now.Before(until):
			return "Expired", nil
		default:
			ends = append(ends, until)
		}
	}
	return "", ends
}

// demoted says whether a cluster ranks after all others: it has a PreferNoSelect taint that is not tolerated, and it is
// no incumbent of a placement that wants to stay where it is.
func (r *run) demoted(name string, steady int) bool {
	for _, taint := range r.w.Clusters[name].Spec.Taints {
		forever, until := r.tolerance(taint)
		if taint.Effect == "PreferNoSelect" && !forever && !r.w.Now.Before(until) {
			return !r.seats[name] || steady <= 0
		}
	}
	return false
}

// tolerance returns until when a taint is tolerated: the latest end of all tolerations that match.
func (r *run) tolerance(taint clusterv1.Taint) (forever bool, until time.Time) {
	for _, toleration := range r.spec.Tolerations {
		if !covers(toleration, taint) {
			continue
		}
		switch seconds := toleration.TolerationSeconds; {
		case seconds == nil || *seconds > 100*365*24*3600:
			forever = true
		case *seconds <= 0:
		case taint.TimeAdded.IsZero():
			forever = true // read as added just now, whenever it is looked at
		default:
			end := taint.TimeAdded.Add(time.Duration(*seconds) * time.Second)
			if end.After(until) {
				until = end
			}
		}
	}
	return forever, until
}

func covers(toleration clusterv1beta1.Toleration, taint clusterv1.Taint) bool {
	if toleration.Effect != "" && toleration.Effect != taint.Effect {
		return false
	}
	if toleration.Key != "" && toleration.Key != taint.Key {
		return false
	}
	return toleration.Operator == "Exists" || toleration.Value == taint.Value
}
