package plan

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/internal/kube/evidence"
	"github.com/berth-project/berth/internal/kube/phrase"
	"github.com/berth-project/berth/rollout"
)

// abort stops the rollouts that are to be aborted, over every placement whose strategy has AbortAll. The status gets the instant before
// any cluster returns: a process that starts in between then goes on with the return, and not with the rollout.
func (p *planner) abort() {
	var aborting []*placementState
	breached := false
	for i := range p.placements {
		if s := &p.placements[i]; s.failureStrategy == workv1alpha1.AbortAll {
			aborting = append(aborting, s)
			breached = breached || s.step.Breached
		}
	}
	began := p.in.Set.Status.AbortedTime
	if !p.abortedBefore() || len(aborting) == 0 {
		began = nil // it was of another template, or a user has ended it
	}
	if began == nil && !breached {
		return
	}
	obstacle := p.obstacle()
	if began == nil && obstacle != "" {
		for _, s := range aborting {
			s.note = "; the rollout is not aborted: " + obstacle
		}
		return
	}
	p.aborted = began
	if began == nil {
		p.aborted = new(metav1.NewTime(p.in.Now))
		p.wakeAt(p.in.Now)
	}
	for _, s := range aborting {
		p.stop(s, began != nil && obstacle == "", obstacle)
	}
}

// abortedBefore reports whether the stored status has that the rollout of the present template was aborted.
func (p *planner) abortedBefore() bool {
	return p.in.Set.Status.AbortedTime != nil && p.in.Set.Status.UpdateRevision == p.in.Hash
}

// stop lets no cluster of a placement start. If returning, they return to the former template. An obstacle is why they cannot any more.
func (p *planner) stop(s *placementState, returning bool, obstacle string) {
	if s.step.Phase == rollout.PhaseUndecided || s.step.Phase == rollout.PhaseEmpty {
		return
	}
	s.freeze(rollout.PhaseBreached, rollout.WaitsForRepair)
	for i := range s.step.Verdicts {
		if evidence.Waits(s.step.Verdicts[i].Code) {
			s.step.Verdicts[i].Code = rollout.WaitsForRepair
		}
	}
	s.step.Unproven = nil // passing it starts no cluster
	s.aborted, s.returning = true, returning
	total, states := 0, map[rollout.State]int{}
	for _, c := range p.clusters {
		if c.ruling() != noPlacement && &p.placements[c.ruling()] == s {
			total++
			states[p.formerState(c)]++
		}
	}
	s.cause = fmt.Sprintf("The rollout is aborted%s: %d of %s run the template of the last finished rollout", p.because(),
		states[rollout.StateSucceeded], phrase.Count(total, "cluster"))
	s.step.InFlight = 0
	if under := states[rollout.StateToApply] + states[rollout.StateProgressing]; obstacle == "" && under > 0 {
		s.step.InFlight = under
		s.cause += fmt.Sprintf(", %d on the way back", under)
	}
	if failed := states[rollout.StateFailed]; failed > 0 {
		s.cause += fmt.Sprintf(", %d failing with it", failed)
	}
	if skipped := states[rollout.StateSkip]; skipped > 0 {
		s.cause += fmt.Sprintf(", %d left out", skipped)
	}
	if obstacle != "" {
		s.cause += ", and no other returns: " + obstacle
	}
	s.cause += "; change the template, or remove failureStrategy to go on"
}

// formerState returns how far a cluster is with the template of the last finished rollout.
func (p *planner) formerState(c *cluster) rollout.State {
	former := p.renderingOf(p.in.Former, c.name, p.in.Set.Status.CurrentRevision)
	state, _ := StateOf(c.work, former.Hash, p.in.Now)
	refused := c.formerFault != nil && c.formerFault.Permanent || c.taken(p.name) != nil
	switch {
	case former.Failure != "":
		return rollout.StateSkip
	case state == rollout.StateToApply && refused:
		return rollout.StateFailed
	default:
		return state
	}
}

// explainReturn returns where a cluster without the present template is after an abort.
func (p *planner) explainReturn(s *placementState, c *cluster) string {
	why := "the rollout is aborted" + p.because()
	switch p.formerState(c) {
	case rollout.StateSucceeded:
		return "runs the template of the last finished rollout: " + why
	case rollout.StateFailed:
		failure := "the API server refused it"
		if c.formerFault == nil {
			failure = failureOf(c.work)
		}
		return "fails with the template of the last finished rollout: " + cmp.Or(failure, "its work is Degraded")
	case rollout.StateSkip:
		return "keeps what it has: " + p.formerOf(c).Failure
	default:
		if !s.returning && p.obstacle() != "" {
			return s.cause
		}
		return "is on the way back to the template of the last finished rollout: " + why
	}
}

// because names the clusters for which the rollout was aborted; empty without any on record.
func (p *planner) because() string {
	var names []string
	if record := p.in.Set.Status.Rollout; record != nil && record.Revision == p.revision() {
		for _, entry := range record.Clusters {
			if entry.Phase == clusterv1alpha1.ClusterFailed || entry.Phase == clusterv1alpha1.ClusterLost {
				names = append(names, entry.Name)
			}
		}
	}
	if len(names) == 0 {
		return ""
	}
	return " because of " + phrase.Join(names, phrase.MaxNames)
}

// obstacle is why no cluster can return to the former template; empty if they can.
func (p *planner) obstacle() string {
	switch {
	case p.in.Set.Status.CurrentRevision == "":
		return "no rollout of the set has finished before"
	case RollsOutOverrides(p.in.Set, p.in.Hash) && p.in.Set.Status.CurrentRevision == p.in.Hash:
		return "its template is that of the last finished rollout, and the former overrides are not kept: apply the file of the set with them"
	case p.former() == "":
		return "the template of the last finished rollout is not kept"
	default:
		return p.in.Obstacle
	}
}

// returns reports whether a cluster has to get the former template because its rollout is aborted.
func (p *planner) returns(c *cluster) bool {
	if !p.placements[c.ruling()].returning {
		return false
	}
	former := p.formerOf(c)
	return former.Failure == "" && (c.work == nil || !IsCurrent(c.work, former.Hash))
}

// ReturnObstacle returns why clusters must not return from one template to another by themselves; empty if they may. A definition of
// custom resources that goes back to another version may lose stored fields, and a definition that goes takes all its resources along.
func ReturnObstacle(from, to *workv1.ManifestWorkSpec) string {
	before, after := definitions(from), definitions(to)
	names := slices.Sorted(maps.Keys(before))
	for name := range after {
		if _, has := before[name]; !has {
			names = append(names, name)
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool { return before[name] == after[name] })
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	return "the templates differ in CustomResourceDefinition " + phrase.Join(names, phrase.MaxNames)
}

// definitions returns the definitions of custom resources in a template, by name.
func definitions(spec *workv1.ManifestWorkSpec) map[string]string {
	out := map[string]string{}
	for i := range spec.Workload.Manifests {
		object := metav1.PartialObjectMetadata{}
		raw := spec.Workload.Manifests[i].Raw
		if json.Unmarshal(raw, &object) != nil || object.Kind != "CustomResourceDefinition" ||
			!strings.HasPrefix(object.APIVersion, "apiextensions.k8s.io/") {
			continue
		}
		canonical, err := canonicalManifest(raw)
		if err != nil {
			canonical = raw
		}
		out[object.Name] = string(canonical)
	}
	return out
}
