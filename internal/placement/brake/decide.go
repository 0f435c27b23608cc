package brake

import (
	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/ledger"
)

// Attempt is an attempt to decide a placement.
type Attempt struct {
	Key      fleet.Key
	Snapshot *fleet.Snapshot
	Past     ledger.Ledger
	// Kept are the clusters that a brake has kept in the last decision, each with the reason.
	Kept map[string]string
	// Anew is set if the placement was made anew with the same spec since its last decision: what it loses counts as if it had stayed.
	Anew bool
	// SameReach reports whether a result has chosen from the sets of the last decision, with the same selectors.
	SameReach func(*engine.Result) bool
	// Decide runs the engine.
	Decide func(*fleet.Snapshot, ledger.Ledger) *engine.Result
}

// Decide decides a placement, and again with the clusters that a brake keeps. Kept are these, each with the reason; nil for none. A
// placement that is edited while a brake keeps clusters of it is judged before the edit may be held: an edit that removes none of them
// leaves them.
func (b *Brake) Decide(a Attempt) (result *engine.Result, kept map[string]string) {
	past := a.Past
	past.Braked, past.BrakedBefore = nil, b.keeps(a.Key, a.Kept)
	edited, judged := past.BrakedBefore != nil && !past.SameSpec, a.Snapshot
	if edited {
		judged = withoutHolds(a.Snapshot)
	}
	unbraked := a.Decide(judged, past)
	if edited {
		past.Braked = b.preview(a.decision(unbraked))
		if result := a.Decide(a.Snapshot, past); !result.Decided {
			return result, past.BrakedBefore
		}
	}
	if !unbraked.Decided {
		return unbraked, past.BrakedBefore
	}
	of := a.decision(unbraked)
	if len(of.Departures) == 0 {
		b.Qualify(a.Key)
	} else {
		kept = b.Judge(of)
	}
	if past.Braked = kept; kept == nil && !edited {
		return unbraked, nil
	}
	return a.Decide(a.Snapshot, past), kept
}

// decision returns what is judged of a result; a result that is not decided removes nothing.
func (a *Attempt) decision(of *engine.Result) Decision {
	if !of.Decided {
		return Decision{Key: a.Key}
	}
	return Decision{
		Key: a.Key, Departures: of.Departures(HealthTaint), Kept: a.Kept, Snapshot: a.Snapshot,
		SameSpec: a.Past.SameSpec || a.Anew, SameReach: a.SameReach(of),
	}
}

// withoutHolds returns the same fleet of a hub that holds no edit.
func withoutHolds(s *fleet.Snapshot) *fleet.Snapshot {
	out := *s
	out.Rules.HoldEmptyingEdits, out.Rules.KeepHeldEdits, out.Rules.HoldUnknownReferences = false, false, false
	return &out
}

// preview returns what Judge would keep, and records nothing.
func (b *Brake) preview(of Decision) map[string]string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out map[string]string
	for _, leaving := range of.Departures {
		by, found := b.keeper(&of, leaving)
		if !found {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[leaving.Cluster] = b.engaged[by].reason()
	}
	return out
}

// keeps returns those of some clusters of a placement that a brake still keeps, each with the reason; nil for none.
func (b *Brake) keeps(key fleet.Key, before map[string]string) map[string]string {
	if len(before) == 0 {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	var out map[string]string
	for _, on := range b.engaged {
		for _, cluster := range on.keeps[key] {
			if _, kept := before[cluster]; !kept {
				continue
			}
			if out == nil {
				out = map[string]string{}
			}
			out[cluster] = on.reason()
		}
	}
	return out
}
