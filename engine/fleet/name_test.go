package fleet_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/fleet"
)

func named(t *testing.T, names ...string) fleet.Selector {
	t.Helper()
	out, faults := fleet.NameSelector(names, nil)
	if len(faults) > 0 {
		t.Fatal(faults.ToAggregate())
	}
	return out
}

func TestNamesNarrow(t *testing.T) {
	s := enginetest.NewState(enginetest.Cluster("a").Obj(), enginetest.Cluster("b").Obj(), enginetest.Cluster("c").Obj(),
		enginetest.Score("gone", "load").Obj()).Snapshot()
	for name, tc := range map[string]struct {
		names []string
		want  []string
	}{
		"no names match every cluster": {nil, []string{"a", "b", "c"}},
		"one":                          {[]string{"b"}, []string{"b"}},
		"two, one of them twice":       {[]string{"c", "a", "c"}, []string{"a", "c"}},
		"a name that no cluster has":   {[]string{"missing"}, nil},
		"a name without a cluster":     {[]string{"gone", "a"}, []string{"a"}},
	} {
		t.Run(name, func(t *testing.T) {
			selector := named(t, tc.names...)
			in := s.ClustersWith(fleet.TermExists).BitSet()
			selector.Filter(s, in)
			var narrowed, matched []string
			for id, cluster := range s.Clusters() {
				if in.Test(id) {
					narrowed = append(narrowed, cluster.Name())
				}
				if selector.Matches(cluster) {
					matched = append(matched, cluster.Name())
				}
			}
			if diff := cmp.Diff(tc.want, narrowed); diff != "" {
				t.Errorf("narrowed to (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.want, matched); diff != "" {
				t.Errorf("matched one by one (-want +got):\n%s", diff)
			}
		})
	}
}

func TestALongListShowsItsBeginning(t *testing.T) {
	var names []string
	for i := range 1000 {
		names = append(names, fmt.Sprintf("c%03d", i))
	}
	want := "name in (c000, c001, c002, c003, c004, c005, c006, c007, c008, c009, c010, c011, c012, c013, c014, c015, c016, c017, " +
		"c018, c019 and 980 more)"
	if got := named(t, names...)[0].String(); got != want {
		t.Errorf("String() = %q, want %q", got, want)
	}
}

func TestChangedTerms(t *testing.T) {
	c := func() *enginetest.ClusterBuilder { return enginetest.Cluster("c").Label("a", "1").Claim("z", "1") }
	terms := map[fleet.Term]string{
		fleet.TermExists: "exists", fleet.TermName("c"): "named c", fleet.TermTainted: "tainted",
		fleet.TermKey(fleet.Label, "a"): "has a", fleet.TermKeyValue(fleet.Label, "a", "1"): "a=1",
		fleet.TermKeyValue(fleet.Label, "a", "2"): "a=2",
		fleet.TermKey(fleet.Label, "b"):           "has b", fleet.TermKeyValue(fleet.Label, "b", ""): "b=",
		fleet.TermKey(fleet.Claim, "z"): "has claim z", fleet.TermKeyValue(fleet.Claim, "z", "1"): "claim z=1",
		fleet.TermChangedValue(fleet.Label, "a"): "value of a", fleet.TermChangedValue(fleet.Label, "b"): "value of b",
		fleet.TermChangedValue(fleet.Claim, "z"): "value of claim z",
	}
	all := map[string]bool{
		"exists": true, "named c": true, "has a": true, "a=1": true, "has claim z": true, "claim z=1": true,
		"value of a": true, "value of claim z": true,
	}
	for name, tc := range map[string]struct {
		before, after *clusterv1.ManagedCluster
		want          map[string]bool
	}{
		"it comes":       {nil, c().Obj(), all},
		"it goes":        {c().Obj(), nil, all},
		"nothing":        {c().Obj(), c().Obj(), map[string]bool{}},
		"another value":  {c().Obj(), c().Label("a", "2").Obj(), map[string]bool{"a=1": true, "a=2": true, "value of a": true}},
		"an empty value": {c().Obj(), c().Label("b", "").Obj(), map[string]bool{"has b": true, "b=": true, "value of b": true}},
		"a claim goes": {
			c().Obj(), enginetest.Cluster("c").Label("a", "1").Obj(),
			map[string]bool{"has claim z": true, "claim z=1": true, "value of claim z": true},
		},
		"a taint, and no value": {c().Obj(), c().Taint("k", "NoSelect", enginetest.Epoch).Obj(), map[string]bool{"tainted": true}},
	} {
		t.Run(name, func(t *testing.T) {
			read := func(object *clusterv1.ManagedCluster) *fleet.Cluster {
				if object == nil {
					return nil
				}
				return fleet.NewCluster(object)
			}
			got := map[string]bool{}
			for _, term := range fleet.ChangedTerms(read(tc.before), read(tc.after)) {
				got[terms[term]] = true
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("terms (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTransientTermsAreNotStored(t *testing.T) {
	s := enginetest.NewState(enginetest.Cluster("c").Label("a", "1").Obj()).Snapshot()
	for _, term := range []fleet.Term{fleet.TermName("c"), fleet.TermChangedValue(fleet.Label, "a")} {
		if s.ClustersWith(term).Count() > 0 {
			t.Errorf("the snapshot keeps the term %q", term)
		}
	}
}
