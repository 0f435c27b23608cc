package plan

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/kube/pacing"
	"github.com/berth-project/berth/rollout"
)

// Plan returns what to write now and what to report. It depends on its argument alone and does not change it.
func Plan(in Input) Result {
	p := &planner{in: in, name: WorkName(in.Set.Namespace, in.Set.Name), byName: map[string]*cluster{}}
	p.readPlacements()
	p.addWorks()
	p.sortClusters()
	for _, c := range p.clusters {
		p.classify(c)
	}
	p.roll()
	p.abort()
	out := Result{Until: p.until}
	for _, s := range p.placements {
		out.Rollouts = append(out.Rollouts, Rollout{Placement: s.name, Step: s.step, Message: s.message()})
	}
	out.Writes = p.writes()
	out.Until = p.until
	out.Verdicts = p.verdicts()
	out.Status = p.status()
	return out
}

// planner computes one plan.
type planner struct {
	in Input
	// name is the name of the works that the set creates.
	name       string
	placements []placementState
	// clusters are sorted by name.
	clusters []*cluster
	byName   map[string]*cluster
	until    time.Time
	// aborted is when the rollout was aborted; nil for a rollout that was not.
	aborted *metav1.Time
}

// cluster returns a cluster, which is added where it is new.
func (p *planner) cluster(name string) *cluster {
	c := p.byName[name]
	if c == nil {
		c = &cluster{name: name}
		p.byName[name] = c
		p.clusters = append(p.clusters, c)
	}
	return c
}

func (p *planner) sortClusters() {
	slices.SortFunc(p.clusters, func(a, b *cluster) int { return strings.Compare(a.name, b.name) })
}

// wakeAt makes the plan end at an instant; the zero time is never.
func (p *planner) wakeAt(at time.Time) {
	if p.until.IsZero() || !at.IsZero() && at.Before(p.until) {
		p.until = at
	}
}

// roll computes the step of each placement, and gives every cluster its verdict.
func (p *planner) roll() {
	for i := range p.placements {
		s := &p.placements[i]
		s.step = rollout.Next(&s.strategy, s.groupsOf(p.byName, i), p.statuses(i), p.in.Now)
		switch {
		case s.reading == pacing.Torn:
			s.freeze(rollout.PhaseUndecided, rollout.WaitsForDecision)
		case pacing.LacksGroups(s.reading, s.Placement, s.step):
			s.freeze(rollout.PhaseUndecided, rollout.WaitsForDecision)
			s.cause = "Groups of the decision may be missing, so no cluster starts: " + s.cause
		case len(p.in.Set.Spec.ManifestWorkTemplate.Workload.Manifests) == 0 && s.step.Phase != rollout.PhaseUndecided:
			// A set without manifests is a mistake: nothing is delivered, and what runs stays.
			s.freeze(rollout.PhaseMisconfigured, rollout.WaitsForStrategy)
			s.cause = "The template has no manifest: nothing is delivered, and what runs stays"
		case p.in.Invalid != "" && s.step.Phase != rollout.PhaseUndecided:
			s.freeze(rollout.PhaseMisconfigured, rollout.WaitsForStrategy)
			s.cause = "The overrides are invalid: nothing is delivered, and what runs stays: " + p.in.Invalid
		}
		p.wakeAt(s.step.Until)
		for _, verdict := range s.step.Verdicts {
			p.byName[verdict.Cluster].verdict = verdict
		}
	}
	for _, c := range p.clusters {
		c.held = c.ruling() == noPlacement && c.work != nil && p.mayBeSelected(c)
	}
}

// statuses returns the statuses of the clusters that a placement rules, and of the clusters that left it.
func (p *planner) statuses(placement int) []rollout.Status {
	var out []rollout.Status
	for _, c := range p.clusters {
		ruled := c.ruling() == placement
		left := c.ruling() == noPlacement && c.work != nil && c.work.Labels[labelPlacement] == PlacementLabelValue(p.placements[placement].name)
		if ruled && c.state != rollout.StateToApply || left {
			out = append(out, rollout.Status{Cluster: c.name, State: c.state, Since: c.since})
		}
	}
	return out
}

// mayBeSelected reports whether a placement without a complete decision may select a cluster that no other selects. That is a placement
// that selected the cluster before. Where the cluster's own placement was taken out of the spec, it is any: the new name may be wrong.
func (p *planner) mayBeSelected(c *cluster) bool {
	before := placementsOf(c.work)
	inSpec, unknown := false, false
	for i := range p.placements {
		s := &p.placements[i]
		listed := slices.Contains(before, s.name) || slices.Contains(before, PlacementLabelValue(s.name))
		if listed && !s.complete() {
			return true
		}
		inSpec = inSpec || listed
		unknown = unknown || !s.complete()
	}
	return !inSpec && unknown
}

// writes returns the writes in order.
func (p *planner) writes() []Write {
	var metadata, specs, deletions []Write
	starts := p.starts()
	for _, c := range p.ordered() {
		switch {
		case c.ruling() == noPlacement:
			deletions = append(deletions, p.removals(c)...)
			continue
		case p.returns(c):
			if write, ok := p.specWrite(c, p.former(), p.formerOf(c).Hash); ok {
				specs = append(specs, write)
			}
		case starts[c.name] || c.repairs():
			if write, ok := p.specWrite(c, p.in.Hash, c.rendered.Hash); ok {
				specs = append(specs, write)
			}
		case p.startsWithFormer(c):
			if write, ok := p.specWrite(c, p.former(), p.formerOf(c).Hash); ok {
				specs = append(specs, write)
			}
		default:
			if write, ok := p.metadataWrite(c); ok {
				metadata = append(metadata, write)
			}
		}
		deletions = append(deletions, p.duplicates(c)...)
	}
	return slices.Concat(metadata, specs, deletions)
}

// starts returns the clusters whose spec is written now: those that the steps start, and those whose refused write is due again.
func (p *planner) starts() map[string]bool {
	out := map[string]bool{}
	for _, s := range p.placements {
		for _, name := range s.step.Apply {
			out[name] = true
		}
	}
	for _, c := range p.clusters {
		// A cluster whose write was refused counts as failed, so that no step starts it again.
		refused := c.fault != nil && c.fault.Permanent && c.state == rollout.StateFailed
		if refused && c.ruling() != noPlacement && !p.placements[c.ruling()].frozen && !c.current() {
			out[c.name] = true
		}
	}
	return out
}

// ordered returns the clusters that start in the order of the rollouts, then the others by name.
func (p *planner) ordered() []*cluster {
	out := make([]*cluster, 0, len(p.clusters))
	for _, s := range p.placements {
		for _, name := range s.step.Apply {
			out = append(out, p.byName[name])
		}
	}
	applied := make(map[*cluster]bool, len(out))
	for _, c := range out {
		applied[c] = true
	}
	for _, c := range p.clusters {
		if !applied[c] {
			out = append(out, c)
		}
	}
	return out
}

// startsWithFormer reports whether a cluster without a work gets the last template that all clusters reached, because the new one is held
// back. Being new is no reason to run nothing, nor to run what is held back.
func (p *planner) startsWithFormer(c *cluster) bool {
	if c.work != nil || p.former() == "" || p.formerOf(c).Failure != "" || p.placements[c.ruling()].frozen {
		return false
	}
	switch c.verdict.Code {
	case rollout.WaitsForResume, rollout.WaitsForRepair, rollout.WaitsForApproval:
		return true
	default:
		return false
	}
}

// former returns the hash of the last template that all clusters reached, if it is another one and can still be written; empty otherwise.
func (p *planner) former() string {
	former := p.in.Set.Status.CurrentRevision
	if former == p.in.Hash || !p.in.Kept[former] {
		return ""
	}
	return former
}

// formerOf returns what that template becomes on a cluster.
func (p *planner) formerOf(c *cluster) Rendering {
	return p.renderingOf(p.in.Former, c.name, p.former())
}

// specWrite returns the write that stores the spec of a revision, whose rendering has the hash. Ok is false while it has to wait.
func (p *planner) specWrite(c *cluster, revision, hash string) (write Write, ok bool) {
	fault := c.fault
	if revision != p.in.Hash {
		fault = c.formerFault
	}
	switch {
	case fault.Delays(p.in.Now):
		p.wakeAt(fault.Retry)
		return Write{}, false
	case c.taken(p.name) != nil: // it waits until the other work is gone
		return Write{}, false
	case c.work == nil:
		write = Write{Verb: Create, Cluster: c.name, Name: p.name}
	case !c.work.DeletionTimestamp.IsZero(): // it is created again once it is gone
		return Write{}, false
	default:
		write = p.update(Update, c.work)
		write.Bare = len(c.work.Annotations) == 0
	}
	labels, annotations := p.metadataOf(c)
	annotations[workv1.TemplateHashAnnotation] = hash
	if len(p.in.Set.Spec.Overrides) > 0 {
		annotations[workv1.RevisionAnnotation] = revision
	}
	annotations[workv1.StartedAtAnnotation] = p.in.Now.UTC().Format(startedAtLayout)
	annotations[workv1.TemplateGenerationAnnotation] = generationAfter(c.work)
	write.Labels, write.Annotations, write.Revision, write.Hash = labels, annotations, revision, hash
	return write, true
}

func (*planner) update(verb Verb, work *workv1.ManifestWork) Write {
	return Write{Verb: verb, Cluster: work.Namespace, Name: work.Name, UID: work.UID, ResourceVersion: work.ResourceVersion}
}

// metadataOf returns the labels and annotations that the work of a cluster has whatever its spec is.
func (p *planner) metadataOf(c *cluster) (labels, annotations map[string]string) {
	labels, propagated := labelsFor(p.in.Set, p.placements[c.ruling()].name)
	annotations = map[string]string{
		annotationOwner:             p.in.Set.Namespace + "/" + p.in.Set.Name,
		workv1.OwnerUIDAnnotation:   string(p.in.Set.UID),
		workv1.PlacementsAnnotation: strings.Join(p.selecting(c), ","),
	}
	if len(propagated) > 0 || c.work != nil && c.work.Annotations[workv1.PropagatedLabelsAnnotation] != "" {
		annotations[workv1.PropagatedLabelsAnnotation] = strings.Join(propagated, ",")
	}
	return labels, annotations
}

// selecting returns the placements that select a cluster, and those that selected it before and have no complete decision now.
func (p *planner) selecting(c *cluster) []string {
	var before []string
	if c.work != nil {
		before = placementsOf(c.work)
	}
	var out []string
	for i := range p.placements {
		s := &p.placements[i]
		if slices.Contains(c.placements, i) || !s.complete() && slices.Contains(before, s.name) {
			out = append(out, s.name)
		}
	}
	return out
}

// metadataWrite returns the change of labels and annotations that a work needs, which is no rollout. Ok is false where it needs none.
func (p *planner) metadataWrite(c *cluster) (write Write, ok bool) {
	if c.work == nil || !c.work.DeletionTimestamp.IsZero() {
		return Write{}, false
	}
	labels, annotations := p.metadataOf(c)
	if c.work.Annotations[workv1.TemplateGenerationAnnotation] != "" && generationAfter(c.work) == c.work.Annotations[workv1.TemplateGenerationAnnotation] {
		// The API server stored the spec that it had, so the generation did not move.
		annotations[workv1.TemplateGenerationAnnotation] = strconv.FormatInt(c.work.Generation, 10)
	}
	write = p.update(UpdateMetadata, c.work)
	write.Labels, write.Annotations = difference(labels, c.work.Labels), difference(annotations, c.work.Annotations)
	for key := range strings.SplitSeq(c.work.Annotations[workv1.PropagatedLabelsAnnotation], ",") {
		_, wanted := labels[key]
		if _, has := c.work.Labels[key]; has && !wanted {
			write.RemovedLabels = append(write.RemovedLabels, key)
		}
	}
	if len(write.Labels)+len(write.Annotations)+len(write.RemovedLabels) == 0 {
		return Write{}, false
	}
	if c.delayed(p.in.Now) {
		p.wakeAt(c.fault.Retry)
		return Write{}, false
	}
	return write, true
}

// difference returns the entries of want that have lacks or has with another value; nil without any.
func difference(want, has map[string]string) map[string]string {
	out := maps.Clone(want)
	maps.DeleteFunc(out, func(key, value string) bool {
		stored, ok := has[key]
		return ok && stored == value
	})
	if len(out) == 0 {
		return nil
	}
	return out
}

// removals returns the deletions of a cluster that no placement selects.
func (p *planner) removals(c *cluster) []Write {
	if c.work == nil || c.held {
		return nil
	}
	if c.delayed(p.in.Now) {
		p.wakeAt(c.fault.Retry)
		return nil
	}
	return p.delete(append([]*workv1.ManifestWork{c.work}, c.duplicates...))
}

// duplicates returns the deletions of the other works of the set, once the work of the set is applied: the objects of the member are
// then kept by it.
func (p *planner) duplicates(c *cluster) []Write {
	if !c.current() || c.delayed(p.in.Now) || !is(observed(c.work, workv1.WorkApplied), metav1.ConditionTrue) {
		return nil
	}
	return p.delete(c.duplicates)
}

func (p *planner) delete(works []*workv1.ManifestWork) []Write {
	var out []Write
	for _, work := range works {
		if work.DeletionTimestamp.IsZero() {
			out = append(out, p.update(Delete, work))
		}
	}
	return out
}
