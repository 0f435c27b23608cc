package plan

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/decision"
	"github.com/berth-project/berth/rollout"
)

// noPlacement is the ruling placement of a cluster that no placement of the spec selects.
const noPlacement = -1

// cluster is one cluster while a plan is made.
type cluster struct {
	name string
	// placements are the positions of the placements that select the cluster, in the order of the spec.
	placements []int
	// work is the work of the set; nil without one. duplicates are other works of the set, and foreign works carry only its label.
	work                *workv1.ManifestWork
	duplicates, foreign []*workv1.ManifestWork
	// fault is the refusal of the last write of the present template, formerFault that of the former template; nil without one.
	fault, formerFault *Fault
	// rendered is what the template becomes on the cluster.
	rendered Rendering

	// group is the group of the ruling placement.
	group decision.GroupKey
	state rollout.State
	since time.Time
	// code, group and until are from the step of the ruling placement.
	verdict rollout.Verdict
	// held means that the cluster is not selected, and that its work stays for lack of a decision.
	held bool
}

// ruling returns the position of the placement that rules the cluster.
func (c *cluster) ruling() int {
	if len(c.placements) == 0 {
		return noPlacement
	}
	return c.placements[0]
}

// taken returns the foreign work that has the name of the set's works; nil without one.
func (c *cluster) taken(name string) *workv1.ManifestWork {
	if c.work != nil {
		return nil
	}
	for _, work := range c.foreign {
		if work.Name == name {
			return work
		}
	}
	return nil
}

// addWorks sorts the works of a cluster into the work of the set, its duplicates and foreign works.
func (p *planner) addWorks() {
	for _, work := range p.in.Works {
		c := p.cluster(work.Namespace)
		if ownershipOf(p.in.Set, work) == foreign {
			c.foreign = append(c.foreign, work)
		} else {
			c.duplicates = append(c.duplicates, work)
		}
	}
	for _, c := range p.clusters {
		slices.SortFunc(c.duplicates, p.compareWorks)
		slices.SortFunc(c.foreign, func(a, b *workv1.ManifestWork) int { return strings.Compare(a.Name, b.Name) })
		if len(c.duplicates) > 0 {
			c.work, c.duplicates = c.duplicates[0], c.duplicates[1:]
		}
	}
}

// compareWorks orders the works of a set in one cluster: works that are not being deleted first, then owned ones, then the oldest.
func (p *planner) compareWorks(a, b *workv1.ManifestWork) int {
	return cmp.Or(
		compareBools(a.DeletionTimestamp.IsZero(), b.DeletionTimestamp.IsZero()),
		compareBools(ownershipOf(p.in.Set, a) == owned, ownershipOf(p.in.Set, b) == owned),
		a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
		strings.Compare(a.Name, b.Name),
	)
}

// compareBools orders true before false.
func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	default:
		return 1
	}
}

// classify sets the state of a cluster.
func (p *planner) classify(c *cluster) {
	c.rendered = p.renderingOf(p.in.Rendered, c.name, p.in.Hash)
	if p.in.Rendered == nil && len(p.in.Set.Spec.Overrides) > 0 {
		c.rendered.Hash = assumedHash(c.work, p.in.Hash)
	}
	if fault, has := p.in.Faults[c.name]; has && fault.Hash == c.rendered.Hash {
		c.fault = &fault
	} else if has && p.former() != "" && fault.Hash == p.formerOf(c).Hash {
		c.formerFault = &fault
	}
	c.state, c.since = StateOf(c.work, c.rendered.Hash, p.in.Now)
	taken := c.taken(p.name)
	switch {
	case c.rendered.Failure != "" && c.ruling() != noPlacement:
		c.state, c.since = p.unrendered(c)
	case c.repairs():
		// The cluster had started. It keeps its place while its spec is put back.
		c.state, c.since = rollout.StateProgressing, p.in.Now
	case c.state != rollout.StateToApply:
	case c.fault != nil && c.fault.Permanent:
		c.state, c.since = rollout.StateFailed, c.fault.Since
	case taken != nil && taken.DeletionTimestamp.IsZero():
		c.state = rollout.StateFailed
	default: // it has not started
	}
}

// unrendered returns the state of a cluster that gets nothing more of the template. Where it has started the template, it keeps its place
// and may fail until it has succeeded; otherwise it is left out.
func (p *planner) unrendered(c *cluster) (rollout.State, time.Time) {
	state, since := StateOf(c.work, assumedHash(c.work, p.in.Hash), p.in.Now)
	if state == rollout.StateProgressing || state == rollout.StateFailed {
		return state, since
	}
	return rollout.StateSkip, time.Time{}
}

// renderingOf returns what the template with a hash becomes on a cluster.
func (p *planner) renderingOf(all map[string]Rendering, cluster, hash string) Rendering {
	if why := p.in.Undeliverable[cluster]; why != "" {
		return Rendering{Failure: why}
	}
	if found, has := all[cluster]; has {
		return found
	}
	return Rendering{Hash: hash}
}

// assumedHash returns the hash of a rendering for a caller that cannot render: a work that was rendered from the template counts as
// current.
func assumedHash(work *workv1.ManifestWork, revision string) string {
	if work != nil && work.Annotations[workv1.RevisionAnnotation] == revision && work.Annotations[workv1.TemplateHashAnnotation] != "" {
		return work.Annotations[workv1.TemplateHashAnnotation]
	}
	return revision
}

// repairs reports whether another client changed the current spec of the work.
func (c *cluster) repairs() bool {
	hash := c.rendered.Hash
	return hash != "" && c.work != nil && c.work.DeletionTimestamp.IsZero() && c.work.Annotations[workv1.TemplateHashAnnotation] == hash &&
		edited(c.work)
}

// startedAt returns when the present template was written; zero where that is not on record.
func (c *cluster) startedAt() time.Time {
	if c.work == nil {
		return time.Time{}
	}
	return StartedAt(c.work)
}

// failure returns why the cluster has failed, for the record of the rollout.
func (c *cluster) failure() string {
	switch {
	case c.fault != nil && c.fault.Permanent:
		return "the API server refused the work: " + c.fault.Message
	case c.work != nil && c.state == rollout.StateFailed:
		return failureOf(c.work)
	default:
		return ""
	}
}

// current reports whether the work has the present template.
func (c *cluster) current() bool { return c.work != nil && IsCurrent(c.work, c.rendered.Hash) }

// delayed reports whether the last write failed a moment ago.
func (c *cluster) delayed(now time.Time) bool { return c.fault.Delays(now) }

// generationAfter returns the generation of a work after its spec was replaced.
func generationAfter(work *workv1.ManifestWork) string {
	if work == nil {
		return "1"
	}
	return strconv.FormatInt(work.Generation+1, 10)
}
