package review_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/internal/admission/review"
)

func TestContradiction(t *testing.T) {
	needs := func(list ...metav1.LabelSelectorRequirement) []metav1.LabelSelectorRequirement { return list }
	for name, tc := range map[string]struct {
		requirements []metav1.LabelSelectorRequirement
		want         string
	}{
		"nothing required":  {nil, ""},
		"one of two values": {needs(enginetest.Wants("a", "In", "x", "y"), enginetest.Wants("a", "In", "y", "z")), ""},
		"two values at once": {
			needs(enginetest.Wants("a", "In", "x"), enginetest.Wants("a", "In", "y")),
			"claim a=x and claim a=y",
		},
		"a value and not that value": {
			needs(enginetest.Wants("a", "NotIn", "x", "y"), enginetest.Wants("a", "In", "x")),
			"claim a not in (x, y) and claim a=x",
		},
		"a value and not another": {needs(enginetest.Wants("a", "NotIn", "y"), enginetest.Wants("a", "In", "x", "y")), ""},
		"exists and does not exist": {
			needs(enginetest.Wants("a", "DoesNotExist"), enginetest.Wants("a", "Exists")),
			"claim a does not exist and claim a exists",
		},
		"a value and does not exist": {
			needs(enginetest.Wants("a", "In", "x"), enginetest.Wants("a", "DoesNotExist")),
			"claim a=x and claim a does not exist",
		},
		"not that value, and does not exist": {needs(enginetest.Wants("a", "NotIn", "x"), enginetest.Wants("a", "DoesNotExist")), ""},
		"contradictions of two keys":         {needs(enginetest.Wants("a", "In", "x"), enginetest.Wants("b", "In", "y")), ""},
		"the contradiction is last": {needs(enginetest.Wants("b", "In", "x"), enginetest.Wants("a", "Exists"),
			enginetest.Wants("a", "DoesNotExist")), "claim a exists and claim a does not exist"},
		"any value except one": {needs(enginetest.Wants("a", "Exists"), enginetest.Wants("a", "NotIn", "x")), ""},
	} {
		t.Run(name, func(t *testing.T) {
			selector, faults := fleet.ClaimSelector(clusterv1beta1.ClusterClaimSelector{MatchExpressions: tc.requirements}, nil)
			if len(faults) > 0 {
				t.Fatal(faults)
			}
			if got := review.Contradiction(selector); got != tc.want {
				t.Errorf("Contradiction = %q, want %q", got, tc.want)
			}
		})
	}
}
