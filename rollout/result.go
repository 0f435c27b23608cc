package rollout

import (
	"cmp"
	"slices"
	"time"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	"github.com/berth-project/berth/decision"
)

// step sorts the verdicts into the lists of a Step and sets its phase.
func (p *planner) step(groups []decision.Group) Step {
	out := Step{
		Verdicts: p.verdicts, Group: decision.GroupKey{Index: decision.NoIndex},
		Total: len(p.verdicts), InFlight: p.inFlight, Failures: p.failures, Lost: p.lost, MaxConcurrency: p.inFlightLimit,
		Breached: p.breached && !p.elsewhere(), Elsewhere: p.elsewhere(),
		Mandatory: p.breached && !p.elsewhere() && p.mandatoryFailed(),
		Unmatched: unmatched(p.references(), groups), Errors: p.errs,
	}
	if p.kind != clusterv1alpha1.ProgressivePerGroup {
		out.Base = cmp.Or(p.evidence.Total, out.Total)
		out.MaxFailures = p.maxFailures.of(out.Base)
	}
	for _, v := range p.verdicts {
		switch v.Code {
		case Starting:
			out.Apply = append(out.Apply, v.Cluster)
		case WaitsForPlace, WaitsForGroup, WaitsForProof, WaitsForApproval, WaitsForResume, WaitsForRepair, WaitsForStrategy:
			out.Wait = append(out.Wait, v.Cluster)
		case TimedOut:
			out.TimedOut = append(out.TimedOut, v.Cluster)
		case Skipped:
			out.Keep = append(out.Keep, v.Cluster)
			out.skip(v)
		default:
			out.Keep = append(out.Keep, v.Cluster)
		}
		out.Until = earliest(out.Until, v.Until)
	}
	out.InFlight += len(out.Apply)
	if len(out.Apply) > 0 && p.deadline > 0 && p.deadline != never {
		out.Until = earliest(out.Until, p.now.Add(p.deadline))
	}
	code := Left
	if len(groups) > 0 {
		out.Removed = p.removed
	} else {
		out.Wait, code = p.removed, WaitsForDecision
	}
	for _, name := range p.removed {
		out.Verdicts = append(out.Verdicts, Verdict{Cluster: name, Group: decision.GroupKey{Index: decision.NoIndex}, Code: code})
	}
	for i := range p.groups {
		if s := &p.groups[i]; !s.done() {
			out.Group, out.Unproven = p.awaited(s), p.unproven(s)
			break
		}
	}
	out.Phase = p.phase(out)
	return out
}

// skip counts a cluster that is left out.
func (s *Step) skip(v Verdict) {
	s.Skipped++
	if v.Forgiven {
		s.Forgiven++
	}
}

// phase returns the first phase that applies.
func (p *planner) phase(s Step) Phase {
	switch {
	case len(p.errs) > 0:
		return PhaseMisconfigured
	case len(p.groups) == 0:
		return PhaseUndecided
	case s.Total == 0:
		return PhaseEmpty
	case p.breached && len(s.Wait) == 0 && s.InFlight == 0:
		return PhaseFailed
	case p.breached:
		return PhaseBreached
	case len(s.Apply) > 0:
		return PhaseAdvancing
	case len(s.Wait) == 0 && s.InFlight == 0 && s.Failures+s.Lost > 0 && !p.evidence.Finished && !hasCode(s.Verdicts, Done):
		return PhaseFailed
	case len(s.Wait) == 0 && s.InFlight == 0:
		return PhaseFinished
	case p.paused && len(s.Wait) > 0:
		return PhasePaused
	case s.InFlight == 0 && hasCode(s.Verdicts, WaitsForProof):
		return PhaseUnproven
	case s.InFlight == 0 && hasCode(s.Verdicts, WaitsForApproval):
		return PhaseUnapproved
	case s.InFlight == 0 || hasCode(s.Verdicts, UnderWay): // in another rollout, or here
		return PhaseWaiting
	default:
		return PhaseSoaking
	}
}

// hasCode reports whether a cluster has a code.
func hasCode(verdicts []Verdict, code Code) bool {
	return slices.ContainsFunc(verdicts, func(v Verdict) bool { return v.Code == code })
}

// earliest returns the earlier of two instants; the zero time counts as never.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
