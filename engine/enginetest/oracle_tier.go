package enginetest

import (
	"fmt"

	"github.com/berth-project/berth/engine/celenv"
)

// tiers puts every candidate in its first matching tier. An incumbent is also in a tier whose expressions are too costly on it.
func (v *view) tiers() {
	matched, failing := map[string]bool{}, map[string]string{}
	for i, tier := range v.spec.Tiers {
		ballot := v.evaluateSelector(tier.ClusterSelector, minus(v.in, matched))
		for name, answer := range ballot.answers {
			_, placed := v.tier[name]
			switch {
			case answer == celenv.Yes:
				matched[name] = true
			case !v.selected[name]:
				continue
			case answer != celenv.TooCostly && (ballot.missing[name] == "" || !v.leavesAt(name).After(v.w.Now)):
				continue
			case !placed:
				v.held[name] = true
			}
			if !placed {
				v.tier[name] = i
			}
		}
		v.noteMissing(ballot, failing)
		v.recordFailure(fmt.Sprintf("Tiers:tiers[%d]", i), ballot)
	}
	if len(v.spec.Tiers) == 0 {
		return // every cluster is in tier 0
	}
	for _, name := range names(v.in) {
		if !matched[name] && failing[name] != "" {
			v.failing[name] = failing[name]
		}
		_, placed := v.tier[name]
		switch {
		case !placed && v.scope.held[name]:
			v.tier[name] = len(v.spec.Tiers)
		case !placed:
			v.drop(name, "OutsideTiers")
		case !matched[name]:
			v.retainedOnly[name] = true
		}
	}
}

// tierName returns the reason in a decision.
func (v *view) tierName(name string) string {
	if tier, placed := v.tier[name]; placed && tier < len(v.spec.Tiers) {
		return v.spec.Tiers[tier].Name
	}
	return ""
}
