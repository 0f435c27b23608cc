package rollout

import (
	"time"

	"github.com/berth-project/berth/decision"
)

// step sorts the verdicts into lists and says where the rollout stands.
func (w *walk) step(groups []decision.Group) Step {
	out := Step{
		Verdicts: w.verdicts, Group: decision.GroupKey{Index: decision.NoIndex},
		Total: len(w.verdicts), InFlight: w.inFlight, Failures: w.failures, MaxConcurrency: w.room,
		Unmatched: unmatched(w.named(), groups), Errors: w.errs,
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
		out.Removed = w.left
	} else {
		out.Wait, code = w.left, WaitsForDecision
	}
	for _, name := range w.left {
		out.Verdicts = append(out.Verdicts, Verdict{Cluster: name, Group: decision.GroupKey{Index: decision.NoIndex}, Code: code})
	}
	for _, s := range w.stages {
		if !s.done() {
			out.Group = s.key
			break
		}
	}
	out.Phase = w.phase(out)
	return out
}

// phase returns the first phase that applies.
func (w *walk) phase(s Step) Phase {
	switch {
	case len(w.errs) > 0:
		return Misconfigured
	case len(w.stages) == 0:
		return Undecided
	case s.Total == 0:
		return Empty
	case w.breached:
		return Breached
	case len(s.Apply) > 0:
		return Advancing
	case len(s.Wait) == 0 && s.InFlight == 0:
		return Finished
	case w.paused && len(s.Wait) > 0:
		return Paused
	case s.InFlight == 0:
		return Unapproved
	}
	for _, v := range s.Verdicts {
		if v.Code == UnderWay {
			return Waiting
		}
	}
	return Watching
}

// earliest returns the earlier of two instants; the zero time is none.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
