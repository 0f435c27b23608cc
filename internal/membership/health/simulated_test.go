package health

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
)

func (b builder) simulated() builder {
	b.Annotations = map[string]string{clusterv1.SimulatedAnnotationKey: "true"}
	return b
}

func (b builder) notAccepted() builder {
	b.Spec.HubAcceptsClient = false
	return b
}

// edit changes a stored cluster and its status, and lets the loop observe them.
func (l *loop) edit(t *testing.T, name string, change func(builder)) {
	t.Helper()
	stored := &clusterv1.ManagedCluster{}
	if err := l.client.Get(t.Context(), client.ObjectKey{Name: name}, stored); err != nil {
		t.Fatal(err)
	}
	change(builder{stored})
	status := stored.Status.DeepCopy()
	if err := l.client.Update(t.Context(), stored); err != nil {
		t.Fatal(err)
	}
	stored.Status = *status
	if err := l.client.Status().Update(t.Context(), stored); err != nil {
		t.Fatal(err)
	}
	l.show(t)
}

// conditions returns the stored conditions about the registration of a cluster: accepted, joined and available, with their reasons.
func (l *loop) conditions(t *testing.T, name string) (out []string) {
	t.Helper()
	stored := &clusterv1.ManagedCluster{}
	if err := l.client.Get(t.Context(), client.ObjectKey{Name: name}, stored); err != nil {
		t.Fatal(err)
	}
	for _, kind := range simulatedConditions() {
		if found := meta.FindStatusCondition(stored.Status.Conditions, kind); found != nil {
			out = append(out, string(found.Status)+" "+found.Reason)
		}
	}
	return out
}

// newSimulatingLoop returns a loop that simulates annotated clusters and taints all other clusters that never joined.
func newSimulatingLoop(t *testing.T, objects ...client.Object) *loop {
	t.Helper()
	l := newLoop(t, interceptor.Funcs{}, objects...)
	l.cache.simulate, l.unjoined = true, TaintUnjoined
	l.showClusters(t)
	l.decideAll(t)
	l.writes = 0
	return l
}

// fullConditions are the stored conditions of a simulated cluster.
var fullConditions = []string{"True Simulated", "True Simulated", "True Simulated"}

// TestASimulatedClusterStaysAvailable: one write to its status makes a cluster accepted, joined and available. It gets no lease and no
// taint, and is never silent. A condition that another client removes is written again.
func TestASimulatedClusterStaysAvailable(t *testing.T) {
	l := newSimulatingLoop(t, cluster("c").simulated().notAccepted().Obj(), globalSet())
	for range 3 {
		l.decideAll(t, "c")
		l.clock.SetTime(l.clock.Now().Add(24 * time.Hour))
	}
	if diff := cmp.Diff(fullConditions, l.conditions(t, "c")); diff != "" || l.writes != 1 {
		t.Errorf("%d writes, conditions (-want +got):\n%s", l.writes, diff)
	}
	if got := l.stored(t, "c"); got != "True; none" {
		t.Errorf("the cluster is %s", got)
	}
	l.edit(t, "c", func(b builder) { meta.RemoveStatusCondition(&b.Status.Conditions, available) })
	l.decideAll(t, "c")
	if diff := cmp.Diff(fullConditions, l.conditions(t, "c")); diff != "" {
		t.Errorf("conditions after one was removed (-want +got):\n%s", diff)
	}
}

// TestASimulatedClusterKeepsItsTaints: a user may simulate an outage by a taint. A taint from before the simulation is removed first.
func TestASimulatedClusterKeepsItsTaints(t *testing.T) {
	l := newSimulatingLoop(t, cluster("c").tainted(since(unreachable, time.Hour)).Obj(), globalSet())
	l.edit(t, "c", func(b builder) { b.simulated() })
	for _, want := range []string{"; none", "True; none"} {
		l.decideAll(t, "c")
		if got := l.stored(t, "c"); got != want {
			t.Errorf("the cluster is %s, want %s", got, want)
		}
	}
	l.edit(t, "c", func(b builder) { b.tainted(since(unreachable, 0)) })
	l.decideAll(t, "c")
	if got := l.stored(t, "c"); got != "True; unreachable since 0s" {
		t.Errorf("a user tainted the cluster, and it is %s", got)
	}
}

// TestASimulationEnds with its annotation: the cluster then counts as never joined, and is tainted.
func TestASimulationEnds(t *testing.T) {
	l := newSimulatingLoop(t, cluster("c").simulated().Obj(), globalSet())
	l.decideAll(t, "c")
	l.edit(t, "c", func(b builder) { b.Annotations = nil })
	for range 2 {
		l.decideAll(t, "c")
	}
	if got := l.stored(t, "c"); got != "; unreachable since 0s" || len(l.conditions(t, "c")) > 0 {
		t.Errorf("the cluster is %s, conditions %v", got, l.conditions(t, "c"))
	}
}

// TestAnAgentEndsTheSimulation: the reports of the agent stay, and its lease counts.
func TestAnAgentEndsTheSimulation(t *testing.T) {
	l := newSimulatingLoop(t, cluster("c").simulated().Obj(), lease("c", 0))
	l.decideAll(t, "c")
	l.edit(t, "c", func(b builder) { b.condition(available, "False") })
	l.decideAll(t, "c")
	if diff := cmp.Diff(append(slices.Clone(fullConditions[:2]), "False Test"), l.conditions(t, "c")); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
	if got := l.stored(t, "c"); got != "False; unavailable since 0s" {
		t.Errorf("the cluster is %s", got)
	}
}

// TestWithoutTheFlagNoClusterIsSimulated: a cluster that never joined is tainted. A cluster that was simulated before stays as it is.
func TestWithoutTheFlagNoClusterIsSimulated(t *testing.T) {
	before := cluster("before").simulated()
	setSimulated(&before.Status.Conditions, metav1.NewTime(noon.Add(-time.Hour)))
	l := newLoop(t, interceptor.Funcs{}, cluster("new").simulated().Obj(), before.Obj())
	l.unjoined = TaintUnjoined
	l.decideAll(t, "new", "before")
	l.decideAll(t, "new", "before")
	got := map[string]string{"new": l.stored(t, "new"), "before": l.stored(t, "before")}
	if diff := cmp.Diff(map[string]string{"new": "; unreachable since 0s", "before": "True; none"}, got); diff != "" {
		t.Errorf("clusters (-want +got):\n%s", diff)
	}
}
