package live

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/fleet"
)

// TestGraces takes away what clusters are selected by, and a label that nothing reads.
func TestGraces(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	h.put(enginetest.Cluster("c3").In("sea").Label("env", "live").Label("note", "1").Claim("platform", "cloud").Obj())
	h.decide(t)
	if got := h.Graces(); len(got) > 0 {
		t.Errorf("nothing has gone: %+v", got)
	}
	began := h.clock.Now()
	h.deleteSet("sky")
	h.unbind("sea")
	h.put(enginetest.Cluster("c1").In("sea").Claim("platform", "cloud").Obj())
	h.put(enginetest.Cluster("c3").In("sea").Label("env", "live").Claim("platform", "cloud").Obj())
	h.clock.Step(time.Second)
	want := []Grace{
		{Kind: GraceSet, Name: "sky", Placements: 4, Since: began, Until: began.Add(testGrace)},
		{Kind: GraceBinding, Namespace: "ns", Name: "sea", Placements: 4, Since: began, Until: began.Add(testGrace)},
		{Kind: GraceCluster, Name: "c1", Lost: "label env=live", Placements: 1, Since: began, Until: began.Add(testGrace / factGraceShare)},
	}
	if diff := cmp.Diff(want, h.Graces()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := h.CountGraces(); got != len(want) {
		t.Errorf("%d are counted, want %d", got, len(want))
	}
	for _, of := range want {
		key := fleet.Key{Namespace: of.Namespace, Name: of.Name}
		if !h.EndGrace(of.Kind, key) {
			t.Errorf("%s %s has no grace", of.Kind, of.Name)
		}
		if h.EndGrace(of.Kind, fleet.Key{Name: "missing"}) || h.EndGrace("Placement", key) {
			t.Errorf("a grace of nothing has ended")
		}
	}
	due := h.DueWithdrawals(h.clock.Now())
	if len(due.Sets) != 1 || len(due.Bindings) != 1 || len(due.Clusters) != 1 {
		t.Errorf("due is %+v, want all that was released", due)
	}
	h.EndWithdrawals(due, Found{}, h.clock.Now(), h.clock.Now().Add(time.Second))
	if got := h.Graces(); len(got) > 0 {
		t.Errorf("every grace was ended: %+v", got)
	}
}

// TestAClusterIsACandidateAgainAfterItsGrace creates a placement while a cluster loses a label that the placement does not read.
func TestAClusterIsACandidateAgainAfterItsGrace(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	before := h.state.Clusters["c1"].DeepCopy()
	noted := before.DeepCopy()
	noted.Labels["note"] = "1"
	h.put(noted)
	h.decide(t)
	h.put(before)
	h.place(enginetest.Placement("ns", "late").Obj())
	h.decide(t)
	if diff := cmp.Diff([]string{"c2", "c3", "c4", "c5", "c6"}, h.decisions()["late"]); diff != "" {
		t.Errorf("within the grace (-want +got):\n%s", diff)
	}
	h.passGrace(t)
	h.decide(t)
	if diff := cmp.Diff([]string{"c1", "c2", "c3", "c4", "c5", "c6"}, h.decisions()["late"]); diff != "" {
		t.Errorf("after the grace (-want +got):\n%s", diff)
	}
}
