package live

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/fleet"
)

// TestGracesWaitForDefinitions takes a set away, and then a definition.
func TestGracesWaitForDefinitions(t *testing.T) {
	h, gone := newHub(t), false
	h.KeepWhile(func() bool { return gone })
	h.deleteSet("sea")
	for _, gone = range []bool{false, true, false} {
		found := h.Graces()
		input, _ := h.Peek(fleet.Key{Namespace: "ns", Name: "all"}, h.clock.Now())
		if len(found) != 1 || found[0].Waits != gone || input.Waits != gone {
			t.Errorf("a definition is gone: %t, the graces are %+v and the placement waits: %t", gone, found, input.Waits)
		}
	}
}

// TestDecisionsThatGoWithTheirDefinitionAreKept deletes the placement "all" or its slices while a definition is gone, and cordons all
// clusters: only clusters that count as selected before stay.
func TestDecisionsThatGoWithTheirDefinitionAreKept(t *testing.T) {
	all, six := fleet.Key{Namespace: "ns", Name: "all"}, []string{"c1", "c2", "c3", "c4", "c5", "c6"}
	undefinePlacements := func(h *hub) *clusterv1beta1.Placement {
		p := h.unplace(all).DeepCopy()
		p.UID, p.Generation, p.Status = "", 0, clusterv1beta1.PlacementStatus{}
		return p
	}
	undefineSlices := func(h *hub) {
		for _, s := range h.state.SlicesOf(all) {
			delete(h.state.Slices, sliceKey(s))
			h.DeleteSlice(s)
		}
	}
	for name, test := range map[string]struct {
		do   func(h *hub, back func())
		want []string
	}{
		"placements": {func(h *hub, back func()) {
			p := undefinePlacements(h)
			h.clock.Step(100 * testGrace)
			h.Audit()
			back()
			h.place(p)
		}, six},
		"decisions": {func(h *hub, back func()) {
			undefineSlices(h)
			h.clock.Step(100 * testGrace)
			back()
		}, six},
		"decisions first, and then placements": {func(h *hub, back func()) {
			undefineSlices(h)
			p := undefinePlacements(h)
			h.place(p)
			back()
		}, six},
		"a placement that does not come back within the grace after that": {func(h *hub, back func()) {
			p := undefinePlacements(h)
			back()
			h.Audit()
			h.clock.Step(testGrace)
			h.place(p)
		}, nil},
		"decisions that another client deletes are written again": {func(h *hub, back func()) {
			back()
			undefineSlices(h)
		}, six},
	} {
		t.Run(name, func(t *testing.T) {
			h, gone := newHub(t), true
			h.KeepWhile(func() bool { return gone })
			for name, c := range h.state.Clusters {
				h.put(enginetest.Cluster(name).In(c.Labels[clusterv1beta2.ClusterSetLabel]).Taint("k", "NoSelectIfNew", enginetest.Epoch).Obj())
			}
			test.do(h, func() { gone = false })
			h.decide(t)
			if diff := cmp.Diff(test.want, h.decisions()["all"]); diff != "" {
				t.Errorf("clusters of the placement (-want +got):\n%s", diff)
			}
		})
	}
}
