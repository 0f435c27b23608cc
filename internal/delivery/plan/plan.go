package plan

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/internal/kube/evidence"
	"github.com/berth-project/berth/internal/kube/phrase"
	"github.com/berth-project/berth/internal/kube/reading"
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
	out := Result{Until: p.until}
	for _, s := range p.placements {
		out.Rollouts = append(out.Rollouts, Rollout{Placement: s.name, Step: s.step, Message: s.message()})
	}
	out.Writes = p.writes()
	out.Until = p.until
	out.Verdicts = p.verdicts()
	out.Status, out.Begins, out.Departs = p.status(), len(p.begins) > 0, p.departs
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
	// record is what the rollout has shown. begins and restart are of evidence.Output.
	record          *clusterv1alpha1.RolloutRecord
	begins, restart map[string]bool
	// departs is of evidence.Output.
	departs bool
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

// roll runs the rollout by what the clusters have shown, and gives every cluster its verdict.
func (p *planner) roll() {
	for _, c := range p.clusters {
		c.held = c.ruling() == noPlacement && c.work != nil && p.mayBeSelected(c)
	}
	out := evidence.Run(p.evidence())
	p.record, p.begins, p.restart, p.departs = out.Record, out.Begins, out.Restart, out.Departs
	for i := range p.placements {
		p.placements[i].step.Phase, p.placements[i].step.Unproven = out.Steps[i].Phase, out.Steps[i].Unproven
	}
	p.endReturn()
	if out.Breached != "" {
		for i := range p.placements {
			p.placements[i].note += "; Placement " + out.Breached + " was breached when it was taken out of the set"
		}
	}
	if missing := int(out.Record.Missing); missing > 0 {
		for i := range p.placements {
			p.placements[i].note += fmt.Sprintf("; %s that the rollout began with, or that an edit added, not selected now, so it has not "+
				"finished: select as many again, or let it finish with `%s`", phrase.Count(missing, "cluster"), ApproveWithoutMissing(p.in.Set))
		}
	}
	p.wakeAt(out.Until)
}

// evidence returns what the rollout is run from.
func (p *planner) evidence() evidence.Input {
	out := evidence.Input{
		Record: p.in.Set.Status.Rollout, Revision: p.revision(), Overrides: overridesOf(p.in.Set),
		Finished: p.in.Set.Status.CurrentRevision == p.in.Hash, Members: p.in.Members, Forgiven: p.forgiven, Passes: p.passes,
		Hold: p.hold, Now: p.in.Now, WithoutMissing: p.finishesWithoutMissing(),
	}
	out.Continues = out.Record != nil && templateOf(out.Record.Revision) == p.in.Hash
	for i := range p.placements {
		s := &p.placements[i]
		placement := evidence.Placement{
			Name: s.name, Strategy: &s.strategy, Ruled: s.groupsOf(p.byName, i), Complete: s.complete(),
			Returning: s.failureStrategy == workv1alpha1.AbortAll && p.abortedBefore(),
		}
		if s.reading != reading.Missing {
			placement.Decided = reading.GroupsOf(s.Placement, func(string) bool { return true })
			placement.Generation, placement.DecidedGeneration = s.Object.Generation, reading.DecidedGeneration(s.Object)
			placement.UID = s.Object.UID
		}
		for _, group := range placement.Ruled.Groups {
			for _, name := range group.Clusters {
				p.byName[name].group = group.GroupKey
			}
		}
		out.Placements = append(out.Placements, placement)
	}
	for _, c := range p.clusters {
		if c.ruling() == noPlacement && c.work == nil {
			continue
		}
		out.Clusters = append(out.Clusters, evidence.Cluster{
			Name: c.name, Placement: c.ruling(), Group: c.group, State: c.state, Since: c.since, Started: c.startedAt(),
			Message: c.failure(), Former: p.formerlyRuledBy(c), Held: c.held,
			Leaves: c.ruling() == noPlacement && !c.held && c.work != nil && c.work.DeletionTimestamp.IsZero(),
		})
	}
	return out
}

// hold changes the steps that may not be taken: of placements whose decision is not to be trusted, and of a rollout that is aborted.
func (p *planner) hold(steps []rollout.Step) (frozen []bool) {
	for i := range p.placements {
		s := &p.placements[i]
		s.step = steps[i]
		if note := s.Withhold(&s.step); note != "" {
			s.note += note
			p.wakeAt(p.in.Now.Add(reading.WithdrawalRetry))
		}
		switch {
		case s.reading == reading.Torn:
			s.freeze(rollout.PhaseUndecided, rollout.WaitsForDecision)
		case reading.LacksGroups(s.reading, s.Placement, s.step) || s.reading == reading.Partial && s.step.Phase == rollout.PhaseUnproven:
			s.freeze(rollout.PhaseUndecided, rollout.WaitsForDecision)
			s.cause = "Groups of the decision may be missing, so no cluster starts: " + s.cause
		case len(p.in.Set.Spec.ManifestWorkTemplate.Workload.Manifests) == 0 && s.step.Phase != rollout.PhaseUndecided:
			// A set without manifests is a mistake: nothing is delivered, and what runs stays.
			s.freeze(rollout.PhaseMisconfigured, rollout.WaitsForStrategy)
			s.cause = "The template has no manifest: nothing is delivered, and what runs stays"
		case p.in.Invalid != "" && s.step.Phase != rollout.PhaseUndecided:
			s.freeze(rollout.PhaseMisconfigured, rollout.WaitsForStrategy)
			s.cause = "The overrides are invalid: nothing is delivered, and what runs stays: " + p.in.Invalid
		case p.lacksFormer() && !p.startsWithoutFormer() && s.step.Phase != rollout.PhaseUndecided:
			s.freeze(rollout.PhaseUnapproved, rollout.WaitsForApproval)
			s.cause = "The template of the last finished rollout is not kept, so this one does not start, and what runs stays"
		}
		p.wakeAt(s.step.Until)
	}
	p.abort()
	for i := range p.placements {
		steps[i] = p.placements[i].step
		for _, verdict := range steps[i].Verdicts {
			p.byName[verdict.Cluster].verdict = verdict
		}
		frozen = append(frozen, p.placements[i].frozen)
	}
	return frozen
}

// formerlyRuledBy returns the position of the placement that ruled the cluster of a work which no placement rules now, or noPlacement.
func (p *planner) formerlyRuledBy(c *cluster) int {
	if c.work == nil {
		return noPlacement
	}
	for i := range p.placements {
		if c.work.Labels[labelPlacement] == PlacementLabelValue(p.placements[i].name) {
			return i
		}
	}
	return noPlacement
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
		case p.begins[c.name]: // it is written once it is on record
		case p.returns(c):
			if write, ok := p.specWrite(c, p.former(), p.formerOf(c).Hash); ok {
				specs = append(specs, write)
			}
		case starts[c.name] || c.repairs():
			if write, ok := p.specWrite(c, p.in.Hash, c.rendered.Hash); ok {
				specs = append(specs, write)
			}
		case p.startsWithFormer(c):
			if write, ok := p.specWrite(c, p.finished(), p.formerOf(c).Hash); ok {
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

// starts returns the clusters whose spec is written now: those that the steps start and that need not be on record first, those on record
// without the template, and those whose refused write is due again.
func (p *planner) starts() map[string]bool {
	out := map[string]bool{}
	for _, s := range p.placements {
		for _, name := range s.step.Apply {
			out[name] = !p.begins[name]
		}
	}
	for _, c := range p.clusters {
		if !p.mayStart(c) {
			continue
		}
		if p.restart[c.name] && c.rendered.Failure == "" {
			out[c.name] = true
		}
		// A cluster whose write was refused counts as failed, so that no step starts it again.
		if c.fault != nil && c.fault.Permanent && c.state == rollout.StateFailed && !c.current() {
			out[c.name] = true
		}
	}
	return out
}

// mayStart reports whether the placement of a cluster lets it start what the steps do not start.
func (p *planner) mayStart(c *cluster) bool {
	if c.ruling() == noPlacement {
		return false
	}
	ruling := &p.placements[c.ruling()]
	return !ruling.frozen && ruling.Going[c.name] == ""
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

// startsWithFormer reports whether a cluster without a work gets the last template whose rollout finished, because it waits for the new
// one. Being new is no reason to run nothing. It takes no place of the rollout.
func (p *planner) startsWithFormer(c *cluster) bool {
	return c.work == nil && p.in.Invalid == "" && p.finished() != "" && !p.changesOverrides() && p.formerOf(c).Failure == "" &&
		evidence.Waits(c.verdict.Code)
}

// finished returns the hash of the last template whose rollout finished, if it can still be written; empty otherwise.
func (p *planner) finished() string {
	finished := p.in.Set.Status.CurrentRevision
	if finished != p.in.Hash && !p.in.Kept[finished] {
		return ""
	}
	return finished
}

// former returns the hash of that template if it is another one than the present.
func (p *planner) former() string {
	if p.finished() == p.in.Hash {
		return ""
	}
	return p.finished()
}

// formerOf returns what that template becomes on a cluster.
func (p *planner) formerOf(c *cluster) Rendering {
	return p.renderingOf(p.in.Former, c.name, p.finished())
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
	if c.work.Annotations[workv1.TemplateGenerationAnnotation] != "" &&
		generationAfter(c.work) == c.work.Annotations[workv1.TemplateGenerationAnnotation] {
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
