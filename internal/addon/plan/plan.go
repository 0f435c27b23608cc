package plan

import (
	"slices"
	"strings"
	"time"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
)

// Plan returns what to write now and what to report. It depends on its argument alone and does not change it.
func Plan(in Input) Result {
	p := &planner{in: in, byName: map[string]*cluster{}, removed: map[string]bool{}}
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
	deletions := p.deletions()
	p.roll()
	out := Result{Begins: p.begins, Departs: p.departs}
	for i := range p.placements {
		out.Rollouts = append(out.Rollouts, p.placements[i].step)
	}
	out.Writes = slices.Concat(deletions, p.writes())
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
	// removed are the clusters that lose the add-on with this plan. waiting counts those that wait for it.
	removed map[string]bool
	waiting int
	// begins and departs are of Result.
	begins, departs bool
	until           time.Time
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

// ordered returns the clusters that start in the order of the rollouts, then the others by name.
func (p *planner) ordered() []*cluster {
	out, applied := make([]*cluster, 0, len(p.clusters)), map[string]bool{}
	for _, s := range p.placements {
		for _, name := range s.step.Apply {
			applied[name] = true
			out = append(out, p.byName[name])
		}
	}
	for _, c := range p.clusters {
		if !applied[c.name] {
			out = append(out, c)
		}
	}
	return out
}

// writes returns the writes in order, without those of clusters that lose the add-on.
func (p *planner) writes() []Write {
	var metadata, changes []Write
	for _, c := range p.ordered() {
		switch {
		case c.gone, p.leaves(c):
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
	return slices.Concat(metadata, changes)
}

// deletions returns the removals of the add-on, as far as the budget allows.
func (p *planner) deletions() []Write {
	var out []Write
	budget := min(p.removalBudget(), maxDeletions)
	for _, c := range p.clusters {
		if c.gone || !p.leaves(c) {
			continue
		}
		if write, ok := p.deletion(c, &budget); ok {
			out = append(out, write)
			p.removed[c.name] = true
		}
	}
	return out
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
