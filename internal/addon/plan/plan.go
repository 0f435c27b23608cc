package plan

import (
	"slices"
	"strings"
	"time"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
	"github.com/berth-project/berth/internal/kube/pacing"
	"github.com/berth-project/berth/rollout"
)

// Plan returns what to write now and what to report. It depends on its argument alone and does not change it.
func Plan(in Input) Result {
	p := &planner{in: in, byName: map[string]*cluster{}}
	if !in.AddOn.DeletionTimestamp.IsZero() || in.AddOn.Annotations[addonv1alpha1.LifecycleAnnotation] == addonv1alpha1.LifecycleSelf {
		// The garbage collector removes what the strategy installed. With lifecycle "self" the add-on does all of it.
		return Result{Status: *in.AddOn.Status.DeepCopy()}
	}
	p.readPlacements()
	for _, object := range in.Installed {
		p.cluster(object.Namespace).addOn = object
	}
	slices.SortFunc(p.clusters, func(a, b *cluster) int { return strings.Compare(a.name, b.name) })
	for _, c := range p.clusters {
		p.classify(c)
	}
	p.roll()
	out := Result{}
	for i := range p.placements {
		out.Rollouts = append(out.Rollouts, p.placements[i].step)
	}
	out.Writes = p.writes()
	out.Verdicts = p.verdicts()
	out.Status = p.status()
	out.Until = p.until
	return out
}

// planner computes one plan.
type planner struct {
	in         Input
	placements []placementState
	// clusters are sorted by name.
	clusters []*cluster
	byName   map[string]*cluster
	// waiting counts the clusters that wait for their removal.
	waiting int
	until   time.Time
}

// cluster returns a cluster, which is added where it is new.
func (p *planner) cluster(name string) *cluster {
	c := p.byName[name]
	if c == nil {
		c = &cluster{name: name, placement: noPlacement}
		p.byName[name] = c
		p.clusters = append(p.clusters, c)
	}
	return c
}

// wakeAt makes the plan end at an instant; the zero time is never.
func (p *planner) wakeAt(at time.Time) {
	if p.until.IsZero() || !at.IsZero() && at.Before(p.until) {
		p.until = at
	}
}

// byPlacements reports whether placements decide where the add-on is installed.
func (p *planner) byPlacements() bool {
	return p.in.AddOn.Spec.InstallStrategy.Type == addonv1alpha1.AddonInstallStrategyPlacements
}

func (p *planner) allComplete() bool {
	return !slices.ContainsFunc(p.placements, func(s placementState) bool { return !s.complete() })
}

// roll computes the step of each placement, and gives every cluster that a placement rules its verdict.
func (p *planner) roll() {
	for i := range p.placements {
		s := &p.placements[i]
		rules := func(name string) bool { return p.byName[name].follows(i) }
		groups := rollout.Groups{}
		if s.reading != pacing.Missing {
			groups = pacing.GroupsOf(s.Placement, rules)
		}
		s.step = rollout.Next(&s.strategy, groups, p.statuses(i), p.in.Now)
		if lacks := pacing.LacksGroups(s.slices, s.Placement, s.step); lacks || s.reading == pacing.Torn {
			if lacks {
				s.cause = "Groups of the decision may be missing, so no cluster starts: " + s.cause
			}
			s.frozen = true
			pacing.Freeze(&s.step, rollout.PhaseUndecided, rollout.WaitsForDecision)
		}
		p.wakeAt(s.step.Until)
		for _, verdict := range s.step.Verdicts {
			p.byName[verdict.Cluster].verdict = verdict
		}
		s.former = p.formerWants(i)
	}
}

// statuses returns the statuses of the clusters that a placement rules.
func (p *planner) statuses(placement int) []rollout.Status {
	var out []rollout.Status
	for _, c := range p.clusters {
		if c.follows(placement) && c.state != rollout.StateToApply {
			out = append(out, rollout.Status{Cluster: c.name, State: c.state, Since: c.since})
		}
	}
	return out
}

// ordered returns the clusters that start in the order of the rollouts, then the others by name.
func (p *planner) ordered() []*cluster {
	out := make([]*cluster, 0, len(p.clusters))
	for _, s := range p.placements {
		for _, name := range s.step.Apply {
			p.byName[name].starts = true
			out = append(out, p.byName[name])
		}
	}
	for _, c := range p.clusters {
		if !c.starts {
			out = append(out, c)
		}
	}
	return out
}

// writes returns the writes in order.
func (p *planner) writes() []Write {
	var metadata, changes, deletions []Write
	budget := p.removalBudget()
	for _, c := range p.ordered() {
		switch {
		case c.gone:
		case p.leaves(c):
			if write, ok := p.deletion(c, &budget); ok {
				deletions = append(deletions, write)
			}
		case c.addOn == nil:
			if write, ok := p.creation(c); ok {
				changes = append(changes, write)
			}
		default:
			if write, ok := p.annotation(c); ok {
				metadata = append(metadata, write)
			} else if write, ok := p.statusWrite(c); ok {
				changes = append(changes, write)
			}
		}
	}
	return slices.Concat(metadata, changes, deletions)
}

// removalBudget returns how many clusters may lose the add-on now.
func (p *planner) removalBudget() int {
	installed := 0
	for _, object := range p.in.Installed {
		if Controls(p.in.AddOn, object) && object.DeletionTimestamp.IsZero() {
			installed++
		}
	}
	recent := p.recentRemovals()
	if p.isNew() {
		return 1 - len(recent)
	}
	return max(1, (installed+len(recent))/10) - len(recent)
}

// isNew reports whether the process has planned the add-on for less than a window. It does not have the removals of the process before it,
// and its caches may be of different ages.
func (p *planner) isNew() bool { return p.in.Now.Sub(p.in.Started) < RemovalWindow }

// recentRemovals returns the removals that count towards the budget.
func (p *planner) recentRemovals() []time.Time {
	return slices.DeleteFunc(slices.Clone(p.in.Removals), func(at time.Time) bool { return p.in.Now.Sub(at) >= RemovalWindow })
}

// leaves reports whether a cluster loses the add-on: the strategy installed it, and by complete decisions no placement selects the cluster.
func (p *planner) leaves(c *cluster) bool {
	return c.addOn != nil && p.byPlacements() && len(p.placements) > 0 && c.placement == noPlacement && !c.disabled &&
		p.allComplete() && Controls(p.in.AddOn, c.addOn)
}

// deletion returns the removal of the add-on from a cluster. Ok is false while it has to wait.
func (p *planner) deletion(c *cluster, budget *int) (write Write, ok bool) {
	switch {
	case !c.addOn.DeletionTimestamp.IsZero():
		return Write{}, false
	case c.fault.Delays(p.in.Now):
		p.wakeAt(c.fault.Retry)
		return Write{}, false
	case *budget <= 0:
		p.waiting++
		if p.isNew() {
			p.wakeAt(p.in.Started.Add(RemovalWindow))
		}
		for _, at := range p.recentRemovals() {
			p.wakeAt(at.Add(RemovalWindow))
		}
		return Write{}, false
	}
	*budget--
	return p.fenced(Delete, c), true
}

func (*planner) fenced(verb Verb, c *cluster) Write {
	return Write{Verb: verb, Cluster: c.name, UID: c.addOn.UID, ResourceVersion: c.addOn.ResourceVersion, Hash: hashOf(c.wants)}
}
