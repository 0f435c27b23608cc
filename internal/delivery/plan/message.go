package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/internal/kube/phrase"
	"github.com/berth-project/berth/rollout"
)

// lacking returns a sentence each about the clusters that failed, are left out, or are not written.
func (p *planner) lacking(total int) []string {
	return slices.DeleteFunc([]string{p.failures(total), p.leftOut(total), p.unwritten(total)}, func(text string) bool { return text == "" })
}

// failures names the first clusters that failed: "3 of 310 clusters failed: edge-7 (Deployment shop/web: …), …"; empty without any.
func (p *planner) failures(total int) string {
	return p.named(total, "failed", func(c *cluster) bool { return c.state == rollout.StateFailed || c.verdict.Code == rollout.TimedOut })
}

// leftOut names the first clusters for which the template cannot be rendered; empty without any.
func (p *planner) leftOut(total int) string {
	return p.named(total, "left out", func(c *cluster) bool { return c.state == rollout.StateSkip })
}

// unwritten names the first clusters whose work cannot be written for now, such as one whose namespace is missing on the hub; empty without
// any. It waits a moment, since most such faults pass.
func (p *planner) unwritten(total int) string {
	return p.named(total, notWritten, func(c *cluster) bool {
		return c.fault != nil && !c.fault.Permanent && !c.current() && p.in.Now.Sub(c.fault.Since) >= minFault
	})
}

// notWritten is what the condition ManifestworkApplied reports of clusters whose work cannot be written.
const notWritten = "not written"

// Unwritten returns the part of the condition ManifestworkApplied of a set that names clusters whose work cannot be written, for a caller
// without the faults of writes; empty without any.
func Unwritten(set *workv1alpha1.ManifestWorkReplicaSet) string {
	found := meta.FindStatusCondition(set.Status.Conditions, workv1alpha1.ManifestworkApplied)
	if found == nil || found.Reason != ReasonNotAsExpected || found.ObservedGeneration != set.Generation {
		return ""
	}
	before, _, is := strings.Cut(found.Message, " "+notWritten+": ")
	if !is {
		return ""
	}
	const between = "; "
	if last := strings.LastIndex(before, between); last >= 0 {
		return found.Message[last+len(between):]
	}
	return found.Message
}

// minFault is how long a write must have failed before a condition names it.
const minFault = 10 * time.Second

// named names the first selected clusters that match, with the reason, and counts all.
func (p *planner) named(total int, what string, matches func(*cluster) bool) string {
	var found []string
	for _, c := range p.clusters {
		if c.ruling() != noPlacement && matches(c) {
			found = append(found, fmt.Sprintf("%s (%s)", c.name, phrase.Cut(p.reason(c), phrase.MaxFailure)))
		}
	}
	if len(found) == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %s %s: %s", len(found), phrase.Count(total, "cluster"), what, phrase.Join(found, phrase.MaxNames))
}

// reason returns why a cluster has not succeeded; empty for a cluster that has.
func (p *planner) reason(c *cluster) string {
	switch {
	case c.held && c.fault == nil:
		return "no placement selects the cluster, and a decision is missing; the work stays"
	case c.ruling() == noPlacement && c.fault == nil:
		return cmp.Or(p.departure(c), p.explain(c))
	case c.state == rollout.StateSucceeded:
		return ""
	case c.state == rollout.StateSkip:
		return "it keeps what it has: " + c.rendered.Failure
	case c.fault != nil && c.state != rollout.StateProgressing:
		return "the API server refused the work: " + c.fault.Message
	case c.formerFault != nil && c.work == nil:
		return "the API server refused the work with the former template: " + c.formerFault.Message
	case c.taken(p.name) != nil:
		return "ManifestWork " + p.name + " is not of this set: delete it, or rename the set"
	}
	failure := ""
	if c.work != nil && c.state != rollout.StateToApply {
		failure = failureOf(c.work)
	}
	if c.verdict.Code == rollout.TimedOut {
		return cmp.Or(failure, "the deadline has passed")
	}
	if c.work != nil && c.state == rollout.StateProgressing {
		failure = cmp.Or(failure, trueMessage(c.work, workv1.WorkProgressing))
	}
	why := p.explain(c)
	if p.runsNothing(c) {
		why = "runs nothing: " + why
	}
	if lost := p.departure(c); lost != "" {
		why = lost + "; " + why
	}
	if c.rendered.Failure != "" {
		return cmp.Or(failure, why) + "; it keeps what it has: " + c.rendered.Failure
	}
	return cmp.Or(failure, why)
}

// departure returns how a cluster counts that left before it succeeded, and why it left; empty for any other. It may be back, and wait.
func (p *planner) departure(c *cluster) string {
	at, has := slices.BinarySearchFunc(p.record.Clusters, c.name, func(entry clusterv1alpha1.ClusterRolloutRecord, name string) int {
		return strings.Compare(entry.Name, name)
	})
	if !has || p.record.FinishedTime != nil {
		return ""
	}
	switch entry := &p.record.Clusters[at]; entry.Phase {
	case clusterv1alpha1.ClusterLost:
		return "counts as lost: " + entry.Reason
	case clusterv1alpha1.ClusterLeft:
		return "does not count: " + entry.Reason
	default:
		return ""
	}
}

func (p *planner) explain(c *cluster) string {
	if c.ruling() == noPlacement {
		return rollout.Step{}.Explain(rollout.Verdict{Code: rollout.Left})
	}
	s := &p.placements[c.ruling()]
	if right := s.Going[c.name]; right != "" && c.verdict.Code == rollout.WaitsForDecision {
		return "does not start before it is certain whether it stays selected: " + right
	}
	if s.aborted && c.state == rollout.StateToApply {
		return p.explainReturn(s, c)
	}
	if s.frozen && c.state == rollout.StateToApply {
		return s.cause
	}
	return s.step.Explain(c.verdict)
}

// verdicts returns the verdict of every cluster that is selected or has a work of the set.
func (p *planner) verdicts() []Verdict {
	out := make([]Verdict, 0, len(p.clusters))
	for _, c := range p.clusters {
		if c.ruling() == noPlacement && c.work == nil {
			continue // only foreign works are there
		}
		verdict := Verdict{
			Cluster: c.name, Group: c.verdict.Group, Code: c.verdict.Code, State: c.state, Since: c.since, Until: c.verdict.Until,
			Message: p.reason(c),
		}
		if c.ruling() != noPlacement {
			verdict.Placement = p.placements[c.ruling()].name
		} else if verdict.Code = rollout.Left; c.held {
			verdict.Code = rollout.WaitsForDecision
		}
		if c.work != nil {
			verdict.Work = c.work.Name
		}
		out = append(out, verdict)
	}
	return out
}
