package rollout

import (
	"time"

	"github.com/berth-project/berth/decision"
)

// step sorts the verdicts into the lists of a Step and sets its phase.
func (w *planner) step(groups []decision.Group) Step {
	out := Step{
		Verdicts: w.verdicts, Group: decision.GroupKey{Index: decision.NoIndex},
		Total: len(w.verdicts), InFlight: w.inFlight, Failures: w.failures, MaxConcurrency: w.inFlightLimit,
		Unmatched: unmatched(w.references(), groups), Errors: w.errs,
	}
	for _, v := range w.verdicts {
		switch v.Code {
		case Starting:
			out.Apply = append(out.Apply, v.Cluster)
		case WaitsForPlace, WaitsForGroup, WaitsForApproval, WaitsForResume, WaitsForRepair, WaitsForStrategy:
			out.Wait = append(out.Wait, v.Cluster)
		case TimedOut:
			out.TimedOut = append(out.TimedOut, v.Cluster)
		default:
			out.Keep = append(out.Keep, v.Cluster)
		}
		out.Until = earliest(out.Until, v.Until)
	}
	out.InFlight += len(out.Apply)
	if len(out.Apply) > 0 && w.deadline > 0 && w.deadline != never {
		out.Until = earliest(out.Until, w.now.Add(w.deadline))
	}
	code := Left
	if len(groups) > 0 {
		out.Removed = w.removed
	} else {
		out.Wait, code = w.removed, WaitsForDecision
	}
	for _, name := range w.removed {
		out.Verdicts = append(out.Verdicts, Verdict{Cluster: name, Group: decision.GroupKey{Index: decision.NoIndex}, Code: code})
	}
	for _, s := range w.groups {
		if !s.done() {
			out.Group = s.key
			break
		}
	}
	out.Phase = w.phase(out)
	return out
}

// phase returns the first phase that applies.
func (w *planner) phase(s Step) Phase {
	switch {
	case len(w.errs) > 0:
		return PhaseMisconfigured
	case len(w.groups) == 0:
		return PhaseUndecided
	case s.Total == 0:
		return PhaseEmpty
	case w.breached:
		return PhaseBreached
	case len(s.Apply) > 0:
		return PhaseAdvancing
	case len(s.Wait) == 0 && s.InFlight == 0:
		return PhaseFinished
	case w.paused && len(s.Wait) > 0:
		return PhasePaused
	case s.InFlight == 0:
		return PhaseUnapproved
	}
	for _, v := range s.Verdicts {
		if v.Code == UnderWay {
			return PhaseWaiting
		}
	}
	return PhaseSoaking
}

// earliest returns the earlier of two instants; the zero time counts as never.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
