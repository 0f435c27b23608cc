package registration_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/membership/registration"
)

const (
	accepted  = clusterv1.ManagedClusterConditionHubAccepted
	joined    = clusterv1.ManagedClusterConditionJoined
	available = clusterv1.ManagedClusterConditionAvailable
	stopped   = clusterv1.ReasonManagedClusterLeaseUpdateStopped
)

func condition(kind string, status metav1.ConditionStatus, reason string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason}
}

func TestRegistration(t *testing.T) {
	type outcome struct{ Reported, Denied bool }
	for sentence, test := range map[string]struct {
		conditions []metav1.Condition
		accepts    bool
		want       outcome
	}{
		"nothing was reported":         {nil, false, outcome{}},
		"accepted, and not reported":   {[]metav1.Condition{condition(accepted, "True", "A")}, true, outcome{}},
		"accepted before, and not now": {[]metav1.Condition{condition(accepted, "True", "A")}, false, outcome{Denied: true}},
		"joined":                       {[]metav1.Condition{condition(joined, "True", "J")}, true, outcome{Reported: true}},
		"joined, and denied": {
			[]metav1.Condition{condition(joined, "True", "J")},
			false,
			outcome{Reported: true, Denied: true},
		},
		"available":                  {[]metav1.Condition{condition(available, "True", "A")}, true, outcome{Reported: true}},
		"unavailable":                {[]metav1.Condition{condition(available, "False", "A")}, true, outcome{Reported: true}},
		"Unknown, by another writer": {[]metav1.Condition{condition(available, "Unknown", "A")}, true, outcome{Reported: true}},
		"Unknown, by the hub that made the lease": {[]metav1.Condition{condition(available, "Unknown", stopped)}, true, outcome{}},
		"Unknown, by the hub, and it joined before": {[]metav1.Condition{
			condition(joined, "True", "J"),
			condition(available, "Unknown", stopped),
		}, true, outcome{Reported: true}},
		"what is left of a simulation is no report": {[]metav1.Condition{
			condition(accepted, "True", "Simulated"),
			condition(joined, "True", "Simulated"), condition(available, "True", "Simulated"),
		}, false, outcome{}},
		"a simulated cluster that an agent reports": {[]metav1.Condition{
			condition(joined, "True", "Simulated"),
			condition(available, "True", "A"),
		}, true, outcome{Reported: true}},
	} {
		t.Run(sentence, func(t *testing.T) {
			cluster := &clusterv1.ManagedCluster{}
			cluster.Spec.HubAcceptsClient, cluster.Status.Conditions = test.accepts, test.conditions
			got := outcome{registration.Reported(cluster), registration.Denied(cluster)}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("registration (-want +got):\n%s", diff)
			}
		})
	}
}
