package registration_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/membership/registration"
)

func TestAMemberIsRecordedByItsReportOnlyWhereNoneIsRecorded(t *testing.T) {
	for sentence, test := range map[string]struct {
		change func(c *clusterv1.ManagedCluster)
		want   string
	}{
		"no member is recorded": {func(*clusterv1.ManagedCluster) {}, "u1"},
		"no report":             {func(c *clusterv1.ManagedCluster) { delete(c.Annotations, registration.AgentUIDAnnotationKey) }, ""},
		"a report that is no UID": {func(c *clusterv1.ManagedCluster) {
			c.Annotations[registration.AgentUIDAnnotationKey] = "U 1"
		}, ""},
		"another member is recorded": {func(c *clusterv1.ManagedCluster) { c.Annotations[clusterv1.ClusterUIDAnnotationKey] = "u2" }, ""},
		"this member is recorded":    {func(c *clusterv1.ManagedCluster) { c.Annotations[clusterv1.ClusterUIDAnnotationKey] = "u1" }, ""},
		"a join token waits for its use": {func(c *clusterv1.ManagedCluster) {
			registration.SetRequester(c, registration.JoinUser("c1"), "s1")
		}, ""},
		"the driver token": {func(c *clusterv1.ManagedCluster) {
			c.Annotations[clusterv1.DriverAnnotationKey] = registration.DriverToken
		}, ""},
		"not accepted":    {func(c *clusterv1.ManagedCluster) { c.Spec.HubAcceptsClient = false }, ""},
		"not granted yet": {func(c *clusterv1.ManagedCluster) { c.Status.Conditions = nil }, ""},
		"simulated":       {func(c *clusterv1.ManagedCluster) { c.Annotations[clusterv1.SimulatedAnnotationKey] = "true" }, ""},
		"being deleted":   {func(c *clusterv1.ManagedCluster) { c.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			cluster := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{
				Name: "c1", Annotations: map[string]string{registration.AgentUIDAnnotationKey: "u1"},
			}}
			cluster.Spec.HubAcceptsClient = true
			cluster.Status.Conditions = []metav1.Condition{{
				Type: clusterv1.ManagedClusterConditionHubAccepted, Status: metav1.ConditionTrue, Reason: "A",
			}}
			test.change(cluster)
			if got := registration.MemberToRecord(cluster); got != test.want {
				t.Errorf("MemberToRecord = %q, want %q", got, test.want)
			}
		})
	}
}
