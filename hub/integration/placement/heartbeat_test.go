package placement

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// TestHeartbeatsEnqueueNoPlacement sends heartbeats of every cluster, in its status and by a lease, and then makes a change that one
// placement reads. Events of one kind arrive in order. Once the change is decided, the manager has processed the heartbeats.
func TestHeartbeatsEnqueueNoPlacement(t *testing.T) {
	const clusters, placements = 30, 20
	m := sharedManager(t)
	f := newFleet(t, clusters)
	for i := range placements {
		f.placement(fmt.Sprintf("p%02d", i), kit.Number(int32(i)), func(spec *clusterv1beta1.PlacementSpec) {
			if i%4 == 0 {
				expression(`managedCluster.metadata.name != "" && !has(managedCluster.status.clusterClaims)`)(spec)
			}
		})
	}
	f.placement("witness", kit.Labelled("witness", "yes"))
	for i := range clusters {
		changeStatus(f, f.cluster(i), func(c *clusterv1.ManagedCluster) { c.Status.Conditions = heartbeatConditions(0) })
	}
	awaitFixedPoint(t)
	awaitGarbageCollected(t)
	evaluated := m.idle(t, 0).Sum("berth_placement_evaluations_total")
	written := writes(t)

	const beats = 3
	for beat := range beats {
		for i := range clusters {
			changeStatus(f, f.cluster(i), func(c *clusterv1.ManagedCluster) { c.Status.Conditions = heartbeatConditions(beat + 1) })
			f.renew(i, beat)
		}
	}
	change(f, f.cluster(7), func(c *clusterv1.ManagedCluster) { c.Labels["witness"] = "yes" })
	f.awaitSelected("witness", f.name(7))

	if got := m.idle(t, 0).Sum("berth_placement_evaluations_total") - evaluated; got != 1 {
		t.Errorf("%v evaluations, want only the evaluation of the witness", got)
	}
	written["PUT managedclusters/status"] += beats * clusters
	written["PUT managedclusters"]++
	written["PUT placementdecisions/status"]++
	written["PUT placements/status"]++
	if diff := cmp.Diff(written, writes(t)); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
}

// heartbeatConditions are the conditions of a cluster at a heartbeat: time and message change, status and reason do not.
func heartbeatConditions(beat int) []metav1.Condition {
	return []metav1.Condition{{
		Type: clusterv1.ManagedClusterConditionAvailable, Status: metav1.ConditionTrue, Reason: "ManagedClusterAvailable",
		Message: fmt.Sprintf("heard of %d times", beat), LastTransitionTime: metav1.Unix(1_790_000_000+int64(beat), 0),
	}}
}

// renew renews the lease of a cluster.
func (f *fleet) renew(cluster, beat int) {
	f.t.Helper()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: f.name(cluster)}}
	if beat == 0 {
		f.MustCreate(lease)
	}
	change(f, lease, func(l *coordinationv1.Lease) {
		l.Spec.RenewTime = &metav1.MicroTime{Time: time.Unix(1_790_000_000+int64(beat), 0)}
	})
}
