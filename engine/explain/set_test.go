package explain_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/explain"
)

// TestWhichOfSetAndBindingIsMissing has the sets a and b. The namespace is bound to a and to gone, which does not exist.
func TestWhichOfSetAndBindingIsMissing(t *testing.T) {
	const set, binding = "ManagedClusterSet", "ManagedClusterSetBinding"
	for sentence, test := range map[string]struct {
		sets []string
		want []explain.MissingSet
	}{
		"every bound set":        {nil, []explain.MissingSet{{Name: "gone", Missing: set}}},
		"one that is there":      {[]string{"a"}, nil},
		"one that is bound only": {[]string{"gone"}, []explain.MissingSet{{Name: "gone", Missing: set}}},
		"one that exists only":   {[]string{"b"}, []explain.MissingSet{{Name: "b", Missing: binding}}},
		"one that never was":     {[]string{"x"}, []explain.MissingSet{{Name: "x", Missing: binding}}},
		"all of these, and one twice": {
			[]string{"x", "b", "a", "gone", "x"},
			[]explain.MissingSet{{Name: "b", Missing: binding}, {Name: "gone", Missing: set}, {Name: "x", Missing: binding}},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			placement := enginetest.Placement("ns", "p").Sets(test.sets...)
			state := enginetest.NewState(enginetest.Set("a").Obj(), enginetest.Set("b").Obj(), placement.Obj()).Bind("ns", "a", "gone")
			of := explain.Of(enginetest.Decide(t, state), state.Placements[enginetest.OnlyPlacement(t, state)], nil)
			if diff := cmp.Diff(test.want, of.MissingSets); diff != "" {
				t.Errorf("missing (-want +got):\n%s", diff)
			}
			problems := strings.Join(of.Problems(), "\n")
			for _, missing := range test.want {
				if !strings.Contains(problems, missing.String()) {
					t.Errorf("the problems do not name %s:\n%s", missing.Name, problems)
				}
			}
		})
	}
}
