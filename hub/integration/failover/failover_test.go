package failover

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

const (
	unreachable = clusterv1.ManagedClusterTaintUnreachable
	unavailable = clusterv1.ManagedClusterTaintUnavailable
)

// TestOneClusterFails checks that a failed cluster is replaced after its toleration, and not before, also when the manager is
// killed in between.
func TestOneClusterFails(t *testing.T) {
	const tolerated = 6
	s := newTestFleet(t, 6)
	s.placement("web", 2, tolerated)
	before := kit.Must(s.Selected(t.Context(), s.namespace, "web")).In(t)
	stopped := s.Number(before[0])
	s.StopAgents(stopped)
	since := s.awaitTaint(stopped, unreachable)
	want := metav1.Condition{
		Type: "ManagedClusterConditionAvailable", Status: "Unknown", Reason: "ManagedClusterLeaseUpdateStopped",
		Message: "Registration agent stopped updating its lease.",
	}
	got := s.available(stopped)
	got.LastTransitionTime = metav1.Time{}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what is reported (-want +got):\n%s", diff)
	}
	s.awaitEvent(s.Name(stopped), s.Name(stopped), "AvailableUnknown")
	s.restart()
	s.Await("the stopped cluster is evicted and replaced", func(ctx context.Context) error {
		after, err := s.Selected(ctx, s.namespace, "web")
		if err != nil {
			return err
		}
		gone := !slices.Contains(after, s.Name(stopped))
		if gone && time.Now().Before(since.Add(tolerated*time.Second)) {
			t.Fatalf("the cluster is evicted at %s, is tainted since %s and tolerated for %d seconds", time.Now(), since, tolerated)
		}
		if !gone || !slices.Contains(after, before[1]) || len(after) != 2 {
			return fmt.Errorf("%v are selected, and before %v", after, before)
		}
		return nil
	})
	if still := s.awaitTaint(stopped, unreachable); !still.Equal(since) {
		t.Errorf("the cluster is tainted since %s, and was since %s", still, since)
	}

	moved := kit.Must(s.Selected(t.Context(), s.namespace, "web")).In(t)
	s.StartAgents(stopped)
	s.awaitTaint(stopped, "")
	s.awaitEvent(s.Name(stopped), s.Name(stopped), "Available")
	s.awaitGraceOver()
	if after, err := s.Selected(t.Context(), s.namespace, "web"); err != nil || !slices.Equal(after, moved) {
		t.Errorf("%v are selected, and before %v; error %v", after, moved, err)
	}
}

// TestOutageTimer checks that the timer of an outage continues when an unreachable cluster reports that it is not available,
// and when it is unreachable again. The webhook that sets the times of taints accepts that.
func TestOutageTimer(t *testing.T) {
	s := newTestFleet(t, 5)
	s.placement("web", 5, 3600)
	s.StopAgents(2)
	since := s.awaitTaint(2, unreachable)
	for _, step := range []struct {
		does func(...int)
		want string
	}{
		{s.ReportUnavailable, unavailable}, {s.StopAgents, unreachable}, {s.ReportUnavailable, unavailable},
	} {
		step.does(2)
		if again := s.awaitTaint(2, step.want); !again.Equal(since) {
			t.Errorf("the cluster is %s since %s, and was tainted at %s", step.want, again, since)
		}
	}
	s.StartAgents(2)
	s.awaitTaint(2, "")
	s.ReportUnavailable(2)
	if again := s.awaitTaint(2, unavailable); !again.After(since) {
		t.Errorf("another outage began at %s, the first one at %s", again, since)
	}
	if selected, err := s.Selected(t.Context(), s.namespace, "web"); err != nil || len(selected) != 5 {
		t.Errorf("%v are selected, error %v, want all", selected, err)
	}
}

// expectOnlyGlobalChanged checks that only the set `global` has changed, and returns the versions of all objects.
func (t *testFleet) expectOnlyGlobalChanged(when string, before map[string]string) map[string]string {
	t.t.Helper()
	const global = "*v1beta2.ManagedClusterSet /global"
	after := t.versions()
	if before[global] == after[global] {
		t.t.Errorf("%s: the set has not changed", when)
	}
	want, got := map[string]string{}, map[string]string{}
	for name := range before {
		want[name] = before[name]
	}
	for name := range after {
		got[name] = after[name]
	}
	delete(want, global)
	delete(got, global)
	if diff := cmp.Diff(want, got); diff != "" {
		t.t.Errorf("%s: objects have changed (-before +after):\n%s", when, diff)
	}
	return after
}

// less returns the differences of some counters.
func less(after, before map[string]float64) map[string]float64 {
	out := map[string]float64{}
	for name, value := range after {
		if grown := value - before[name]; grown != 0 {
			out[name] = grown
		}
	}
	return out
}
