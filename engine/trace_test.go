package engine_test

import (
	"testing"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/program"
	"github.com/berth-project/berth/engine/verdict"
)

// TestAnUnknownClusterHasNoVerdict reads verdicts of unknown IDs, with and without a decision.
func TestAnUnknownClusterHasNoVerdict(t *testing.T) {
	for _, p := range []*enginetest.PlacementBuilder{placement(), placement().Mode("Loose")} {
		trace := enginetest.Decide(t, many(3, p.Obj(), nil)).Trace
		for _, id := range []fleet.ID{3, 64, 1 << 20} {
			if got := trace.Verdict(id); got != (verdict.Verdict{}) {
				t.Errorf("Verdict(%d) = %v, want none", id, got)
			}
		}
	}
}

// TestAProgramRetainsNothingOfItsPlacement changes a placement after it was compiled.
func TestAProgramRetainsNothingOfItsPlacement(t *testing.T) {
	seconds := int64(60)
	p := placement().Sets("all").Obj()
	p.Spec.Tolerations = append(p.Spec.Tolerations, clusterv1beta1.Toleration{
		Operator:          clusterv1beta1.TolerationOpExists,
		TolerationSeconds: &seconds,
	})
	compiled, faults := program.Compile(p, enginetest.Env(t))
	if len(faults) > 0 {
		t.Fatal(faults.ToAggregate())
	}
	seconds = 0
	p.Spec.ClusterSets[0] = "none"
	if got := *compiled.Tolerations[0].Seconds; got != 60 {
		t.Errorf("the toleration lasts %d s, want 60", got)
	}
	if got := compiled.ClusterSets[0]; got != "all" {
		t.Errorf("the set is %q, want all", got)
	}
}

// TestAClaimNameWithANullCharacterMatchesOnlyItself tests that a claim is found by its name and value, not by their concatenation.
func TestAClaimNameWithANullCharacterMatchesOnlyItself(t *testing.T) {
	w := many(2, placement().Claims(enginetest.Wants("zone", "In", "a\x00b")).Obj(), func(i int, c *enginetest.ClusterBuilder) {
		if i == 0 {
			c.Claim("zone\x00a", "b")
		} else {
			c.Claim("zone", "a\x00b")
		}
	})
	got := enginetest.Decide(t, w).Clusters()
	if len(got) != 1 || got[0] != "c00001" {
		t.Errorf("selected %q, want c00001", got)
	}
}
