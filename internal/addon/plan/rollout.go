package plan

import (
	"fmt"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
	"github.com/berth-project/berth/decision"
	"github.com/berth-project/berth/internal/kube/evidence"
	"github.com/berth-project/berth/internal/kube/phrase"
	"github.com/berth-project/berth/internal/kube/reading"
	"github.com/berth-project/berth/rollout"
)

// roll runs the rollout over each placement by what its clusters have shown, and gives every cluster that a placement rules its verdict.
func (p *planner) roll() {
	for i := range p.placements {
		s := &p.placements[i]
		out := evidence.Run(p.evidence(i))
		s.step = out.Steps[0]
		if missing := int(out.Record.Missing); missing > 0 {
			s.note += fmt.Sprintf("; %s that the rollout began with, or that an edit added, not selected now, so it has not finished: select "+
				"as many again, or let it finish with `kubectl annotate clustermanagementaddon %s %s=%s --overwrite`",
				phrase.Count(missing, "cluster"), p.in.AddOn.Name, addonv1alpha1.WithoutMissingAnnotation, s.revision)
		}
		for _, verdict := range s.step.Verdicts {
			if c := p.byName[verdict.Cluster]; c.follows(i) {
				c.verdict = verdict
			}
		}
		if s.fault == "" { // else the record stays: an object that is deleted and created again begins no rollout
			p.take(s, out)
		}
		p.wakeAt(out.Until)
	}
}

// take takes from a run what is stored, and which clusters start now: those that are on record.
func (p *planner) take(s *placementState, out evidence.Output) {
	if s.record == nil && out.Steps[0].Total == 0 {
		return // there is nothing to roll out
	}
	s.record = out.Record
	p.begins, p.departs = p.begins || len(out.Begins) > 0, p.departs || out.Departs
	for _, name := range s.step.Apply {
		p.byName[name].starts = true
	}
	for name := range out.Restart {
		p.byName[name].starts = !s.frozen && s.Going[name] == ""
	}
	for name := range out.Begins {
		p.byName[name].starts, p.byName[name].begins = false, true
	}
}

// evidence returns what the rollout over a placement is run from.
func (p *planner) evidence(placement int) evidence.Input {
	s := &p.placements[placement]
	of := evidence.Placement{Name: s.key, Strategy: &s.strategy, Complete: s.complete()}
	if s.reading != reading.Missing {
		of.Decided = reading.GroupsOf(s.Placement, func(string) bool { return true })
		of.Ruled = reading.GroupsOf(s.Placement, func(name string) bool { return p.byName[name].follows(placement) })
		of.Generation, of.DecidedGeneration = s.Object.Generation, reading.DecidedGeneration(s.Object)
		of.UID = s.Object.UID
	}
	groups := map[string]decision.GroupKey{}
	for _, group := range of.Decided.Groups {
		for _, name := range group.Clusters {
			groups[name] = group.GroupKey
			if c := p.byName[name]; !c.follows(placement) && !c.waits {
				of.Elsewhere++
			}
		}
	}
	out := evidence.Input{
		Record: s.record, Revision: s.revision, Finished: p.isRolledOut(s), Placements: []evidence.Placement{of}, Members: p.in.Members,
		Hold: func(steps []rollout.Step) []bool { return []bool{p.hold(s, &steps[0])} }, Now: p.in.Now,
		WithoutMissing: p.in.AddOn.Annotations[addonv1alpha1.WithoutMissingAnnotation] == s.revision,
	}
	for _, c := range p.clusters {
		if each, has := p.evidenceOf(c, placement); has {
			each.Group = groups[c.name]
			out.Clusters = append(out.Clusters, each)
		}
	}
	return out
}

// evidenceOf returns how far the rollout over a placement has come on a cluster. Has is false for a cluster without a part in it.
func (p *planner) evidenceOf(c *cluster, placement int) (out evidence.Cluster, has bool) {
	out = evidence.Cluster{Name: c.name, Placement: evidence.NoPlacement, Former: evidence.NoPlacement}
	switch {
	case c.follows(placement):
		out.Placement, out.State, out.Since, out.Message = 0, c.state, c.since, c.failure()
	case c.waits:
		out.Held = true
	case p.removed[c.name] && c.addOn.Annotations[addonv1alpha1.PlacementAnnotation] == p.placements[placement].key:
		wants, _ := p.choose(c.addOn.Spec.Configs, p.placements[placement].configs)
		out.Former, out.Leaves = 0, true
		out.State, out.Since = stateOf(c.addOn, wants, p.in.Now)
	default:
		return evidence.Cluster{}, false
	}
	if c.addOn != nil {
		out.Started = startOf(c.addOn)
	}
	return out, true
}

// isRolledOut reports whether the configurations of a placement are known to be rolled out, for an add-on without a record: the manager
// before this one stored them as applied.
func (p *planner) isRolledOut(s *placementState) bool {
	before := p.progressionOf(s.key)
	for _, w := range s.wants {
		former := formerProgress(w, before)
		if former == nil || former.LastAppliedConfig == nil || *former.LastAppliedConfig != w.ConfigSpecHash {
			return false
		}
	}
	return len(s.wants) > 0
}

// hold lets no cluster start where the decision or the configurations are not to be trusted.
func (p *planner) hold(s *placementState, step *rollout.Step) (frozen bool) {
	if note := s.Withhold(step); note != "" {
		s.note += note
		p.wakeAt(p.in.Now.Add(reading.WithdrawalRetry))
	}
	switch lacks := reading.LacksGroups(s.slices, s.Placement, *step); {
	case s.reading == reading.Torn:
		s.freeze(step, rollout.PhaseUndecided, rollout.WaitsForDecision)
	case lacks || s.slices == reading.Partial && step.Phase == rollout.PhaseUnproven:
		s.cause = "Groups of the decision may be missing, so no cluster starts: " + s.cause
		s.freeze(step, rollout.PhaseUndecided, rollout.WaitsForDecision)
	case s.fault != "" && step.Phase != rollout.PhaseUndecided && step.Phase != rollout.PhaseEmpty:
		s.cause = "No cluster starts before the configurations are there: " + s.fault
		s.freeze(step, rollout.PhaseMisconfigured, rollout.WaitsForStrategy)
	}
	return s.frozen
}

func (s *placementState) freeze(step *rollout.Step, phase rollout.Phase, code rollout.Code) {
	s.frozen = true
	evidence.Freeze(step, phase, code)
}

// finished reports whether the rollout over a placement has finished.
func (s *placementState) finished() bool {
	return s.record != nil && s.record.FinishedTime != nil && s.fault == ""
}
