package explain_test

import (
	"testing"
	"time"

	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/engine/verdict"
)

func TestWhy(t *testing.T) {
	at := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		verdict verdict.Verdict
		want    string
	}{
		"anti-affinity": {
			verdict.Verdict{Code: verdict.ConstraintBlocked, Argument: verdict.Constraint{
				Term: verdict.Term{Topology: "label zone"}, Domain: "z1",
				TakenBy: "c1",
			}},
			"anti-affinity over label zone: c1 has z1 already",
		},
		"spread": {
			verdict.Verdict{Code: verdict.ConstraintBlocked, Argument: verdict.Constraint{
				Term:   verdict.Term{Spread: true, Topology: "claim region"},
				Domain: "eu",
			}},
			"spread over claim region: eu has enough",
		},
		"the lack of a key": {
			verdict.Verdict{Code: verdict.ConstraintBlocked, Argument: verdict.Constraint{
				Term:  verdict.Term{Spread: true, Topology: "label region"},
				Lacks: true,
			}},
			"spread over label region, which it lacks",
		},
		"waiting": {
			verdict.Verdict{Code: verdict.Waiting, Argument: verdict.Wait{Until: at}},
			"in an earlier tier again, takes over at 2026-11-20T10:00:00Z",
		},
		"in doubt": {verdict.Verdict{Code: verdict.Held, Argument: verdict.Hold{Problem: "too costly"}}, "too costly"},
		"held for now": {
			verdict.Verdict{Code: verdict.Held, Argument: verdict.Hold{Underlying: verdict.Tainted, Until: at}},
			"Tainted, the disruption policy drops it at 2026-11-20T10:00:00Z",
		},
		"held without an end": {
			verdict.Verdict{Code: verdict.Held, Argument: verdict.Hold{Problem: "too costly", Underlying: verdict.Outranked}},
			"too costly; Beaten, the disruption policy drops it never",
		},
		"in no tier": {verdict.Verdict{Code: verdict.OutsideTiers}, "in no tier"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := explain.Why(tc.verdict); got != tc.want {
				t.Errorf("why %q, want %q", got, tc.want)
			}
		})
	}
}
