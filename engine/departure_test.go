package engine_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/enginetest"
)

// TestDepartures takes a selected cluster away in several ways.
func TestDepartures(t *testing.T) {
	relabel := func(c *enginetest.ClusterBuilder) { c.Label("env", "other") }
	drain := func(key string) func(c *enginetest.ClusterBuilder) {
		return func(c *enginetest.ClusterBuilder) { c.Taint(key, clusterv1.TaintEffectNoSelect, enginetest.Epoch) }
	}
	for name, tc := range map[string]struct {
		change  func(c *enginetest.ClusterBuilder)
		revoked bool
		want    []engine.Fact
	}{
		"a taint":           {drain("drain"), false, []engine.Fact{engine.Taints}},
		"a taint of health": {drain("health"), false, nil},
		"another label":     {relabel, false, []engine.Fact{engine.Labels}},
		"another label of a denied cluster": {
			func(c *enginetest.ClusterBuilder) { relabel(c); drain("health")(c) }, false, nil,
		},
		"another set":   {func(c *enginetest.ClusterBuilder) { c.In("other") }, false, []engine.Fact{engine.Labels}},
		"it is revoked": {func(c *enginetest.ClusterBuilder) { c.In("other") }, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			c := enginetest.Cluster("c").In("all").Label("env", "live")
			tc.change(c)
			object := c.Obj()
			if tc.revoked {
				object.Annotations = map[string]string{clusterv1beta2.RevokedSetAnnotation: "all/1"}
			}
			p := enginetest.Placement("ns", "p").Obj()
			p.Spec.Predicates = []clusterv1beta1.ClusterPredicate{{RequiredClusterSelector: clusterv1beta1.ClusterSelector{
				LabelSelector: enginetest.LabelIs("env", "live"),
			}}}
			w := enginetest.NewState(p, enginetest.Set("all").Obj(), object, enginetest.Slice("ns", "p", 1, "c").Obj()).Bind("ns", "all")
			var got []engine.Fact
			for _, leaving := range enginetest.Decide(t, w).Departures(func(key string) bool { return key == "health" }) {
				got = append(got, leaving.Facts...)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("facts (-want +got):\n%s", diff)
			}
		})
	}
}
