package program_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/enginetest"
)

func withTiers(tiers ...clusterv1beta1.ClusterTier) specOption {
	return func(spec *clusterv1beta1.PlacementSpec) { spec.Tiers = tiers }
}

func tier(name string) clusterv1beta1.ClusterTier { return clusterv1beta1.ClusterTier{Name: name} }

func tiers(n int) []clusterv1beta1.ClusterTier {
	var out []clusterv1beta1.ClusterTier
	for i := range n {
		out = append(out, tier(fmt.Sprint(i)))
	}
	return out
}

func TestTiersAreRefused(t *testing.T) {
	const shape = "must be at most 63 letters, digits, '-', '_' or '.', the first and last a letter or digit"
	wrong := tier("a")
	wrong.ClusterSelector = clusterv1beta1.ClusterSelector{
		ClaimSelector: clusterv1beta1.ClusterClaimSelector{MatchClaims: map[string]string{"": ""}},
		CelSelector:   clusterv1beta1.ClusterCelSelector{CelExpressions: []string{`true`, `1`}},
	}
	checkErrors(t, map[string]wantError{
		"sixteen are fine":       {withTiers(tiers(16)...), nil},
		"seventeen are too many": {withTiers(tiers(17)...), []string{"spec.tiers: Too many: 17: must have at most 16 items"}},
		"a name of 63 is fine":   {withTiers(tier(textOfLength(63))), nil},
		"a name of 64 is too long": {
			withTiers(tier(textOfLength(64))),
			[]string{`spec.tiers[0].name: Invalid value: "` + textOfLength(64) + `": ` + shape},
		},
		"a name with a space": {withTiers(tier("a b")), []string{`spec.tiers[0].name: Invalid value: "a b": ` + shape}},
		"no name": {
			withTiers(tier("a"), tier("")),
			[]string{"spec.tiers[1].name: Required value: name the tier, such as primary"},
		},
		"one name twice": {withTiers(tier("a"), tier("b"), tier("a")), []string{`spec.tiers[2].name: Duplicate value: "a"`}},
		"a selector that is wrong in two ways": {withTiers(wrong), []string{
			"spec.tiers[0].clusterSelector.claimSelector.matchClaims: Required value: name the claim to look at",
			`spec.tiers[0].clusterSelector.celSelector.celExpressions[1]: Invalid value: "1": compilation failed: the expression yields int, want bool`,
		}},
	})
}

func TestTiersKeepTheirOrder(t *testing.T) {
	eu := tier("eu")
	eu.ClusterSelector.LabelSelector = enginetest.LabelIs("region", "eu")
	us := tier("a-us")
	us.ClusterSelector.ClusterNames = []string{"us1"}
	var got []string
	for _, tier := range compiled(t, withTiers(eu, us, tier("rest"))).Tiers {
		text := tier.Name
		for _, requirement := range tier.Selector {
			text += ": " + requirement.String()
		}
		got = append(got, text)
	}
	if diff := cmp.Diff([]string{"eu: label region=eu", "a-us: name=us1", "rest"}, got); diff != "" {
		t.Errorf("tiers (-want +got):\n%s", diff)
	}
}
