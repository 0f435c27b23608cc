//go:build slow

package failover

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-project/berth/hub/hubtest/kit"
)

// TestMostClustersFailAtOnce checks that no decision moves when most clusters fail, because the hub may be the cause. The
// manager reports that once and writes nothing else. The next manager, after a kill, writes nothing either, and nothing is
// written when all clusters are back.
func TestMostClustersFailAtOnce(t *testing.T) {
	s := newTestFleet(t, 10)
	for i := range 4 {
		s.placement(fmt.Sprintf("p%d", i), int32(2*i+1), 0)
	}
	s.awaitGraceOver() // all writes are done
	before, written := s.versions(), s.writes()
	stopped := []int{0, 1, 2, 4, 5, 6, 7, 9}
	s.StopAgents(stopped...)

	first := s.awaitSuspended(metav1.ConditionTrue)
	const message = "8 of 10 joined ManagedClusters stopped renewing their leases at about the same time, more than 55 %: the hub or its " +
		"network is probably at fault. " +
		"No further cluster is reported or tainted until no more than half of that share is silent. Check the network of the hub"
	if first.Reason != "TooManySilent" || first.Message != message {
		t.Errorf("the condition is %s: %s", first.Reason, first.Message)
	}
	s.awaitGraceOver(stopped...)
	during := s.expectOnlyGlobalChanged("while most are silent", before)
	if diff := cmp.Diff(map[string]float64{"PATCH managedclustersets/status": 1, "POST events": 1}, less(s.writes(), written)); diff != "" {
		t.Errorf("writes to the hub (-want +got):\n%s", diff)
	}
	s.restart()
	s.awaitGraceOver(stopped...)
	if diff := cmp.Diff(during, s.versions()); diff != "" {
		t.Errorf("a restart during the outage has written (-before +after):\n%s", diff)
	}
	if read, err := s.manager.ReadMetrics(t.Context()); err != nil || read.Sum("berth_health_suspended") != 1 ||
		read.Sum("berth_clusters", `health="available"`) != 10 {
		t.Errorf("the metrics show suspended %v, %v available, error %v", read.Sum("berth_health_suspended"),
			read.Sum("berth_clusters", `health="available"`), err)
	}

	s.StartAgents(stopped...)
	s.awaitSuspended(metav1.ConditionFalse)
	s.awaitGraceOver()
	s.expectOnlyGlobalChanged("when all are back", during)
	s.awaitEvent(metav1.NamespaceDefault, "global", "HealthSuspended")
	s.awaitEvent(metav1.NamespaceDefault, "global", "HealthResumed")
}

// TestHeartbeatsEnqueueNoPlacement checks that renewed leases cause no write, and one evaluation of each cluster per grace
// period.
func TestHeartbeatsEnqueueNoPlacement(t *testing.T) {
	const clusters, renewals = 12, 15
	s := newTestFleet(t, clusters)
	s.placement("web", 5, 0)
	s.awaitGraceOver()
	before, written := s.versions(), s.writes()
	looks := func() float64 {
		read := kit.Must(s.manager.ReadMetrics(t.Context())).In(t)
		return read.Sum("controller_runtime_reconcile_total", `controller="health"`)
	}
	beats := func() float64 {
		return shared.ReadMetrics(t).Sum("apiserver_request_total", `resource="leases"`, `verb="PATCH"`)
	}
	looked, beaten, begun := looks(), beats(), time.Now()
	s.Await("each lease is renewed often enough", func(context.Context) error {
		if got := beats() - beaten; got < clusters*renewals {
			return fmt.Errorf("%v leases were renewed", got)
		}
		return nil
	})
	graces := float64(time.Since(begun)/grace + 2)
	if got := looks() - looked; got > clusters*graces {
		t.Errorf("%v reconciles of %d clusters within %v grace periods", got, clusters, graces)
	}
	if diff := cmp.Diff(map[string]float64{}, less(s.writes(), written)); diff != "" {
		t.Errorf("writes to the hub (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, s.versions()); diff != "" {
		t.Errorf("objects have changed (-before +after):\n%s", diff)
	}
}
