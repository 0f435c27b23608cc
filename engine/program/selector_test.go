package program_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/enginetest"
)

func withSelector(selector clusterv1beta1.ClusterSelector) specOption {
	return func(spec *clusterv1beta1.PlacementSpec) {
		spec.Predicates = append(spec.Predicates, clusterv1beta1.ClusterPredicate{RequiredClusterSelector: selector})
	}
}

func numberedNames(n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("c%04d", i))
	}
	return out
}

func TestSelectorsAreRefused(t *testing.T) {
	const (
		at    = "spec.predicates[0].requiredClusterSelector."
		shape = "must be the name of a cluster: at most 253 lower case letters, digits, '-' or '.', each part between dots beginning and " +
			"ending with a letter or digit"
	)
	named := func(names ...string) specOption {
		return withSelector(clusterv1beta1.ClusterSelector{ClusterNames: names})
	}
	checkErrors(t, map[string]wantError{
		"names are fine":            {named("c1", "eu.c2", "c1"), nil},
		"a thousand names are fine": {named(numberedNames(1000)...), nil},
		"a thousand and one are too many": {
			named(numberedNames(1001)...),
			[]string{at + `clusterNames: Too many: 1001: must have at most 1000 items`},
		},
		"names that no cluster can have": {named("", "c1", "C_2", textOfLength(254)), []string{
			at + `clusterNames[0]: Invalid value: "": ` + shape, at + `clusterNames[2]: Invalid value: "C_2": ` + shape,
			at + `clusterNames[3]: Invalid value: "` + textOfLength(254) + `": ` + shape,
		}},
		"any claim and any value are fine": {
			withSelector(clusterv1beta1.ClusterSelector{ClaimSelector: clusterv1beta1.ClusterClaimSelector{
				MatchClaims: map[string]string{"a b/c": "v1.26.8+rke2r1", "u": ""},
			}}), nil,
		},
		"a claim without a name": {
			withSelector(clusterv1beta1.ClusterSelector{ClaimSelector: clusterv1beta1.ClusterClaimSelector{
				MatchClaims: map[string]string{"": "x"},
			}}),
			[]string{at + `claimSelector.matchClaims: Required value: name the claim to look at`},
		},
	})
}

func TestASelectorIsReadInOrder(t *testing.T) {
	selector := compiled(t, withSelector(clusterv1beta1.ClusterSelector{
		ClusterNames:  []string{"b", "a", "b"},
		LabelSelector: enginetest.LabelIs("region", "eu"),
		ClaimSelector: clusterv1beta1.ClusterClaimSelector{
			MatchClaims:      map[string]string{"y": "2", "x": "1"},
			MatchExpressions: []metav1.LabelSelectorRequirement{enginetest.Wants("z", "Exists")},
		},
	})).Predicates[0].Selector
	var got []string
	for _, requirement := range selector {
		got = append(got, requirement.String())
	}
	want := []string{"name in (a, b)", "label region=eu", "claim x=1", "claim y=2", "claim z exists"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requirements (-want +got):\n%s", diff)
	}
}

// TestFingerprints pins what is stored on the slices of every hub. A change of it moves clusters at the next upgrade.
func TestFingerprints(t *testing.T) {
	group := func(selector clusterv1beta1.GroupClusterSelector) *enginetest.PlacementBuilder {
		return p().Group("canary", selector)
	}
	labelled := clusterv1beta1.GroupClusterSelector{LabelSelector: enginetest.LabelIs("canary", "yes")}
	claimed := clusterv1beta1.GroupClusterSelector{ClaimSelector: clusterv1beta1.ClusterClaimSelector{
		MatchExpressions: []metav1.LabelSelectorRequirement{enginetest.Wants("zone", "In", "b", "a")},
	}}
	short := clusterv1beta1.GroupClusterSelector{ClaimSelector: clusterv1beta1.ClusterClaimSelector{
		MatchClaims: map[string]string{"zone": "a"},
	}}
	long := clusterv1beta1.GroupClusterSelector{ClaimSelector: clusterv1beta1.ClusterClaimSelector{
		MatchExpressions: []metav1.LabelSelectorRequirement{enginetest.Wants("zone", "In", "a")},
	}}
	expressed := clusterv1beta1.GroupClusterSelector{CelSelector: clusterv1beta1.ClusterCelSelector{CelExpressions: []string{`true`}}}
	for name, tc := range map[string]struct {
		placement *enginetest.PlacementBuilder
		want      string
	}{
		"no strategy":                {p(), "84b23983aaee95aa"},
		"a length":                   {p().PerGroup("25%"), "ec5c8b0b1c87af0f"},
		"a group by label":           {group(labelled), "7d6bb35dc20d9a42"},
		"a group by claim":           {group(claimed), "fc96ad25b1344828"},
		"a group by claim and value": {group(short), "5b45dedcc21917b2"},
		"the same, the long way":     {group(long), "5b45dedcc21917b2"},
		"a group by expression":      {group(expressed), "3152d5e511e4ce3a"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := enginetest.Program(t, enginetest.NewState(tc.placement.Obj())).Groups.Fingerprint; got != tc.want {
				t.Errorf("fingerprint %s, want %s", got, tc.want)
			}
		})
	}
}
