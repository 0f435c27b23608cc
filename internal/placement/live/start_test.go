package live

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/fleet"
)

// TestARightThatGoesAfterAStartHasNoGraceOfTheStart revokes the right to clusters that have lost a label before the manager has started.
// The grace of the start keeps what went before, and not what the manager has seen going.
func TestARightThatGoesAfterAStartHasNoGraceOfTheStart(t *testing.T) {
	t.Parallel()
	revoked := map[string]string{clusterv1beta2.RevokedAnnotation: "now"}
	for name, test := range map[string]struct {
		revoke func(h *hub)
		want   []string
	}{
		"nothing": {func(*hub) {}, []string{"c1", "c2", "c3", "c4", "c5", "c6"}},
		"the binding": {func(h *hub) {
			gone := bindingIn("ns", "sea")
			gone.Annotations = revoked
			delete(h.state.Bindings["ns"], "sea")
			h.DeleteBinding(gone)
		}, []string{"c2", "c4", "c6"}},
		"the set": {func(h *hub) {
			h.state.Sets["sea"].Annotations = revoked
			h.deleteSet("sea")
		}, []string{"c2", "c4", "c6"}},
		"a cluster": {func(h *hub) {
			taken := h.state.Clusters["c1"].DeepCopy()
			delete(taken.Labels, clusterv1beta2.ClusterSetLabel)
			taken.Annotations = map[string]string{clusterv1beta2.RevokedSetAnnotation: "sea/1"}
			h.put(taken)
		}, []string{"c2", "c3", "c4", "c5", "c6"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHub(t)
			for name, cluster := range h.state.Clusters {
				lost := cluster.DeepCopy()
				delete(lost.Labels, "env")
				h.state.Clusters[name] = lost
			}
			h.restart()
			h.decide(t)
			test.revoke(h)
			h.decide(t)
			h.endGraces()
			h.decide(t)
			if diff := cmp.Diff(test.want, h.decisions()["label"]); diff != "" {
				t.Errorf("the placement has other clusters (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAnEditKeepsWhatABrakeKeeps edits a placement by mistake while a brake keeps all of its clusters, which are tainted.
func TestAnEditKeepsWhatABrakeKeeps(t *testing.T) {
	t.Parallel()
	all, braked := fleet.Key{Namespace: "ns", Name: "all"}, map[string]string{}
	for name, label := range map[string]string{"a value that none has": "env", "a label that none has": "regoin"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHub(t)
			for name, cluster := range h.state.Clusters {
				braked[name] = "too many would leave"
				tainted := cluster.DeepCopy()
				tainted.Spec.Taints = enginetest.Cluster(name).Taint("drain", "NoSelect", enginetest.Epoch).Obj().Spec.Taints
				h.put(tainted)
			}
			edited := h.state.Placements[all].DeepCopy()
			edited.Spec.Predicates = []clusterv1beta1.ClusterPredicate{{RequiredClusterSelector: clusterv1beta1.ClusterSelector{
				LabelSelector: enginetest.LabelIs(label, "none"),
			}}}
			h.place(edited)
			input, _ := h.Peek(all, h.clock.Now())
			past := input.Ledger()
			if got := engine.Decide(input.Snapshot, all, input.Program, input.Faults, past); got.Selected != 0 {
				t.Errorf("without a brake %d clusters stay", got.Selected)
			}
			past.BrakedBefore = braked
			got := engine.Decide(input.Snapshot, all, input.Program, input.Faults, past)
			if got.Decided || got.Selected != len(braked) {
				t.Errorf("%d of %d clusters stay: %+v %+v", got.Selected, len(braked), got.EditHeld, got.Misconfigured)
			}
		})
	}
}

// TestTheReachAfterAStart takes clusters out of every set while no manager runs. Where a set is missing, it may have had them, so the
// decision by which they leave has another reach than the one before.
func TestTheReachAfterAStart(t *testing.T) {
	t.Parallel()
	all := fleet.Key{Namespace: "ns", Name: "all"}
	for name, test := range map[string]struct {
		take func(h *hub)
		same bool
	}{
		"a set is deleted":     {func(h *hub) { delete(h.state.Sets, "sea") }, false},
		"all sets are deleted": {func(h *hub) { clear(h.state.Sets) }, false},
		"all sets and bindings are deleted": {func(h *hub) {
			clear(h.state.Sets)
			clear(h.state.Bindings)
		}, false},
		"labels are taken off": {func(h *hub) {
			for _, name := range []string{"c1", "c3", "c5"} {
				taken := h.state.Clusters[name].DeepCopy()
				delete(taken.Labels, clusterv1beta2.ClusterSetLabel)
				h.state.Clusters[name] = taken
			}
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHub(t)
			test.take(h)
			h.restart()
			h.decide(t)
			if kept := len(h.decisions()["all"]); kept != 6 {
				t.Fatalf("%d clusters stay after the start, want 6", kept)
			}
			h.clock.Step(testGrace)
			h.endGraces()
			input, _ := h.Peek(all, h.clock.Now())
			result := engine.Decide(input.Snapshot, all, input.Program, input.Faults, input.Ledger())
			leaving := result.Departures(func(string) bool { return false })
			if len(leaving) < 3 || !leaving[0].OutsideSets {
				t.Errorf("%+v leave, want the clusters outside of sets", leaving)
			}
			if got := SameReach(input.Reach, result.Trace.Reach()); got != test.same {
				t.Errorf("the same reach: %v, want %v", got, test.same)
			}
		})
	}
}
