package source_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/internal/source"
)

func slice(name, label string) *clusterv1beta1.PlacementDecision {
	out := &clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
	if label != "" {
		out.Labels = map[string]string{clusterv1beta1.PlacementLabel: label}
	}
	return out
}

func TestOwnerOf(t *testing.T) {
	cases := map[string]struct {
		name, label string
		placements  []string
		want        string
	}{
		"named and labelled alike":                            {name: "p-decision-1", label: "p", placements: []string{"p"}, want: "ns/p"},
		"named after a placement, the label gone":             {name: "p-decision-1", placements: []string{"p"}, want: "ns/p"},
		"named after a placement, the label edited":           {name: "p-decision-1", label: "q", placements: []string{"p", "q"}, want: "ns/p"},
		"named after no placement, labelled":                  {name: "p-decision-1", label: "q", placements: []string{"q"}, want: "ns/q"},
		"of a placement that is not there":                    {name: "p-decision-1", label: "p", want: "ns/p"},
		"named after a placement that is not there, no label": {name: "p-decision-1", want: "ns/p"},
		"named by hand and labelled":                          {name: "mine", label: "q", placements: []string{"q"}, want: "ns/q"},
		"named by hand like a placement, no label":            {name: "mine", placements: []string{"mine"}, want: "ns//mine"},
		"of a placement whose name looks like a slice's": {
			name: "p-decision-1-decision-2", placements: []string{"p-decision-1"},
			want: "ns/p-decision-1",
		},
		"in another namespace than the placement of the name": {name: "other-decision-1", want: "ns/other"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			exists := func(key fleet.Key) bool {
				for _, placement := range tc.placements {
					if key == (fleet.Key{Namespace: "ns", Name: placement}) {
						return true
					}
				}
				return false
			}
			if got := source.OwnerOf(slice(tc.name, tc.label), exists).String(); got != tc.want {
				t.Errorf("owner %s, want %s", got, tc.want)
			}
		})
	}
}
