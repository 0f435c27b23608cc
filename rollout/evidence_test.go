package rollout_test

import (
	"strings"
	"testing"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	"github.com/berth-project/berth/decision"
	"github.com/berth-project/berth/rollout"
)

// gates parses mandatory groups such as "canary qa=passed".
func gates(text string) []rollout.Gate {
	out := []rollout.Gate{}
	for word := range strings.FieldsSeq(text) {
		name, _, passed := strings.Cut(word, "=")
		out = append(out, rollout.Gate{Group: clusterv1alpha1.MandatoryDecisionGroup{GroupName: name}, Passed: passed})
	}
	return out
}

// TestEvidence tests what a memory changes.
func TestEvidence(t *testing.T) {
	const progressive = `type: Progressive, progressive: {maxConcurrency: 2, maxFailures: 1}`
	canary := decision.GroupKey{Index: 0, Name: "canary"}
	for sentence, tc := range map[string]struct {
		evidence                                 rollout.Evidence
		strategy, groups, statuses, codes, phase string
	}{
		"a gate that is passed lets later groups start": {
			rollout.Evidence{Gates: gates("canary=passed")}, progressive, "0/canary:a 1:b", "a=Failed", "a=Failing b=WaitsForRepair", "Breached",
		},
		"a gate waits for its group": {
			rollout.Evidence{Gates: gates("canary")}, progressive, "0/canary:a 1:b", "a=Progressing", "a=UnderWay b=WaitsForGroup", "Waiting",
		},
		"a gate without a group waits for a person": {
			rollout.Evidence{Gates: gates("canary")}, progressive, "1:b", "", "b=WaitsForProof", "MandatoryGroupUnproven",
		},
		"a gate whose clusters were left out waits for a person": {
			rollout.Evidence{Gates: gates("canary")}, progressive, "0/canary:a 1:b", "a=Skip", "a=Skipped b=WaitsForProof", "MandatoryGroupUnproven",
		},
		"a later gate waits for an earlier one": {
			rollout.Evidence{Gates: gates("canary qa")}, progressive, "0/qa:a 1:b", "", "a=WaitsForProof b=WaitsForProof", "MandatoryGroupUnproven",
		},
		"a lost cluster counts": {
			rollout.Evidence{Gates: gates(""), Lost: map[decision.GroupKey]int{{Index: 0}: 2}},
			progressive, "0:a,b", "",
			"a=WaitsForRepair b=WaitsForRepair", "Breached",
		},
		"a lost cluster of a mandatory group counts whatever maxFailures is": {
			rollout.Evidence{Gates: gates("canary"), Lost: map[decision.GroupKey]int{canary: 1}},
			progressive, "1:b", "", "b=WaitsForRepair",
			"Breached",
		},
		"a lost cluster within maxFailures": {
			rollout.Evidence{Gates: gates(""), Lost: map[decision.GroupKey]int{{Index: 0}: 1}},
			progressive, "0:a,b", "", "a=Starting b=Starting",
			"Advancing",
		},
		"a percentage is of the clusters at the start": {
			rollout.Evidence{Gates: gates(""), Total: 5},
			`type: Progressive, progressive: {maxFailures: 20%}`, "0:a,b,c,d,e,f", "a=Failed b=Failed",
			"a=Failing b=Failing c=WaitsForRepair d=WaitsForRepair e=WaitsForRepair f=WaitsForRepair", "Breached",
		},
		"another rollout is breached": {
			rollout.Evidence{Gates: gates(""), Breached: true}, progressive, "0:a,b", "", "a=WaitsForRepair b=WaitsForRepair", "Breached",
		},
		"a finished rollout is not breached": {
			rollout.Evidence{Gates: gates(""), Finished: true, Breached: true},
			progressive, "0:a,b,c", "a=Failed b=Failed",
			"a=Failing b=Failing c=Starting", "Advancing",
		},
		"type All is breached": {
			rollout.Evidence{Gates: gates("")}, `type: All`, "0:a,b", "a=Failed", "a=Failing b=WaitsForRepair", "Breached",
		},
		"type All has failed": {
			rollout.Evidence{Gates: gates("")}, `type: All`, "0:a,b", "a=Failed b=Succeeded", "a=Failing b=Done", "Failed",
		},
		"clusters in flight are bounded": {
			rollout.Evidence{Gates: gates(""), InFlightLimit: 1}, progressive, "0:a,b", "", "a=Starting b=WaitsForPlace", "Advancing",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			step := tc.evidence.Next(strategy(t, "{"+tc.strategy+"}"), groups(t, tc.groups), statuses(t, tc.statuses), now)
			if got := codes(step); got != tc.codes || string(step.Phase) != tc.phase {
				t.Errorf("%s, %s; want %s, %s", step.Phase, got, tc.phase, tc.codes)
			}
			if first := tc.evidence.Gates; step.Phase == rollout.PhaseUnproven && (step.Unproven == nil || *step.Unproven != first[0].Group) {
				t.Errorf("held by %v, want %v", step.Unproven, first[0].Group)
			}
		})
	}
}

// TestAFailureCountsUntilSuccess: a cluster that failed is under way again, and counts twice: as a failure and as in flight.
func TestAFailureCountsUntilSuccess(t *testing.T) {
	of := []rollout.Status{{Cluster: "a", State: rollout.StateProgressing, Since: now, Failed: true}}
	step := rollout.Evidence{Gates: gates("")}.Next(strategy(t, `{type: Progressive, progressive: {maxConcurrency: 2}}`), groups(t, "0:a,b"),
		of, now)
	if got := codes(step); got != "a=UnderWay b=WaitsForRepair" || !step.Breached || step.InFlight != 1 || step.Failures != 1 {
		t.Errorf("%s, %+v", got, step)
	}
}

// TestTheSentenceOfABreach: lost clusters are named apart, for they are no part of the selected ones.
func TestTheSentenceOfABreach(t *testing.T) {
	const one, perGroup = `{type: Progressive, progressive: {maxConcurrency: 1}}`, `{type: ProgressivePerGroup}`
	for sentence, tc := range map[string]struct {
		strategy, groups, statuses string
		total, lost                int
		want                       string
	}{
		"a failure": {one, "0:a,b,c,d", "a=Failed", 4, 0, "1 cluster of 4 failed, more than maxFailures allows: no more clusters start"},
		"a loss":    {one, "0:b,c,d", "", 4, 1, "1 cluster was lost; maxFailures allows 0 of the 4 at the start: no more clusters start"},
		"both": {
			one, "0:a,b,c,d", "a=Failed b=Failed", 4, 1, "2 clusters failed and 1 was lost; maxFailures allows 0 of the 4 at the " +
				"start: no more clusters start",
		},
		"two losses": {
			one, "0:a,b", "a=Failed", 4, 2, "1 cluster failed and 2 were lost; maxFailures allows 0 of the 4 at the start: no more clusters start",
		},
		"by group": {
			perGroup, "0:a,b 1:c", "a=Failed", 4, 1,
			"1 cluster failed and 1 was lost, more than maxFailures allows: no more clusters start",
		},
		"a part succeeds": {
			`{type: Progressive, progressive: {maxFailures: 50%}}`, "0:a,b", "a=Succeeded b=Succeeded", 4, 1,
			"Rolled out to 2 clusters, 1 lost",
		},
		"all failed": {
			one, "0:a,b", "a=Failed b=Failed", 4, 1,
			"2 clusters failed and 1 was lost; maxFailures allows 0 of the 4 at the start, and none is left to start",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			of := rollout.Evidence{Gates: gates(""), Total: tc.total}
			if tc.lost > 0 {
				of.Lost = map[decision.GroupKey]int{{Index: 0}: tc.lost}
			}
			step := of.Next(strategy(t, tc.strategy), groups(t, tc.groups), statuses(t, tc.statuses), now)
			if got := step.Message(); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}
