package engine_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/program"
)

// TestUnknownNames lists clusters by name. No cluster in reach has some of the names.
func TestUnknownNames(t *testing.T) {
	env, err := celenv.New()
	if err != nil {
		t.Fatal(err)
	}
	state := enginetest.NewState(enginetest.Set("all").Obj(), enginetest.Set("other").Obj()).Bind("ns", "all")
	state.Add(enginetest.Cluster("paris-edge").In("all").Obj())
	state.Add(enginetest.Cluster("berlin-edge").In("all").Obj())
	state.Add(enginetest.Cluster("madrid-edge").In("other").Obj())
	for name, tc := range map[string]struct{ names, want []string }{
		"all exist": {[]string{"paris-edge", "berlin-edge"}, nil},
		"one is mistyped": {[]string{"paris-edge", "brelin-edge"}, []string{
			`Predicate:no cluster in reach has the name "brelin-edge" (one is "berlin-edge")`,
		}},
		"one is in no set":    {[]string{"paris-edge", "madrid-edge"}, []string{`Predicate:no cluster in reach has the name "madrid-edge"`}},
		"none exists: a hold": {[]string{"brelin-edge"}, nil},
		"many are to come": {[]string{"paris-edge", "a", "b", "c", "d", "e", "f", "g"}, []string{
			`Predicate:no cluster in reach has the name "a"`, `Predicate:no cluster in reach has the name "b"`,
			`Predicate:no cluster in reach has the name "c"`, `Predicate:no cluster in reach has the name "d"`,
			`Predicate:no cluster in reach has the name "e"`, `Predicate:no cluster in reach has 2 other names of the list`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			p := enginetest.Placement("ns", "p").Obj()
			p.Spec.Predicates = []clusterv1beta1.ClusterPredicate{{
				RequiredClusterSelector: clusterv1beta1.ClusterSelector{ClusterNames: tc.names},
			}}
			compiled, faults := program.Compile(p, env)
			if len(faults) > 0 {
				t.Fatal(faults)
			}
			if diff := cmp.Diff(tc.want, engine.UnknownNames(state.Snapshot(), compiled)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
