//go:build slow

package profile

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	multiclusterv1alpha1 "github.com/berth-project/berth/api/multicluster/v1alpha1"
	"github.com/berth-project/berth/config"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// TestHeartbeatsWriteNothing lets agents send heartbeats, and restarts the manager. It has a hub of its own, whose writes it counts.
func TestHeartbeatsWriteNothing(t *testing.T) {
	w := newStateOn(t, hubtest.New(t, hubtest.Options{Manifests: config.Profile()}))
	fleet := hubtest.NewFleet(t, w.hub, hubtest.FleetOptions{Clusters: 6, LeaseSeconds: 2, Labels: func(int) map[string]string {
		return map[string]string{clusterv1beta2.ClusterSetLabel: w.namespace}
	}})
	w.create(kit.Placement(w.namespace, "web"))
	for number := range 6 {
		w.awaitProfile(w.namespace, fleet.Name(number), func(p *multiclusterv1alpha1.ClusterProfile) bool {
			return status(p, "ControlPlaneHealthy") == metav1.ConditionTrue && status(p, "Joined") == metav1.ConditionTrue
		})
	}
	reader := consumer{w: w, key: "web"}
	reader.awaitDecided()
	before, beats := w.writes(), w.heartbeats()
	for began := time.Now(); w.heartbeats()-beats < 200 && time.Since(began) < testTimeout; {
		time.Sleep(200 * time.Millisecond)
	}
	sent := w.heartbeats() - beats
	if after := w.writes(); after != before || sent < 200 {
		t.Errorf("%v heartbeats caused %v writes, want 200 and more, and none", sent, after-before)
	}

	t.Log("a manager that starts on a settled hub writes nothing before the first change")
	w.manager.Stop()
	before = w.writes()
	w.start()
	marker := kit.Cluster(fleet.Name(0))
	w.MustRead(marker)
	w.report(marker, func(status *clusterv1.ManagedClusterStatus) { status.Version.Kubernetes = "v9" })
	w.awaitProfile(w.namespace, marker.Name, func(p *multiclusterv1alpha1.ClusterProfile) bool { return p.Status.Version.Kubernetes == "v9" })
	if after := w.writes(); after != before+1 {
		t.Errorf("%v writes after a restart and one change, want 1", after-before)
	}
}
