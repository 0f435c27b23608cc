package managedcluster_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/admission/managedcluster"
)

// TestLongLeasesAreWarnedOf checks that a request that sets a long lease period gets a warning and is allowed.
func TestLongLeasesAreWarnedOf(t *testing.T) {
	lease := func(seconds int32) *clusterv1.ManagedCluster {
		out := cluster().In("default").Obj()
		out.Spec.LeaseDurationSeconds = seconds
		return out
	}
	long := "spec.leaseDurationSeconds 601: an outage of the cluster is detected only after five such periods"
	longest := "spec.leaseDurationSeconds 2147483647: an outage of the cluster is detected only after five such periods; " +
		"more than 3600 counts as 3600"
	for name, tc := range map[string]struct {
		old, after *clusterv1.ManagedCluster
		want       []string
	}{
		"the default":                 {nil, lease(60), nil},
		"none":                        {nil, lease(0), nil},
		"a negative period":           {nil, lease(math.MinInt32), nil},
		"ten minutes":                 {nil, lease(600), nil},
		"longer":                      {nil, lease(601), []string{long}},
		"longer, unchanged":           {lease(601), lease(601), nil},
		"longer than before":          {lease(600), lease(601), []string{long}},
		"the longest possible period": {lease(60), lease(math.MaxInt32), []string{longest}},
	} {
		t.Run(name, func(t *testing.T) {
			answer, err := managedcluster.Request{Old: tc.old, New: tc.after, User: jane(), Now: now}.Default(t.Context(),
				managedcluster.JoinOptions{})
			checkError(t, err, "")
			if diff := cmp.Diff(tc.want, answer.Warnings); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
			checkError(t, validate(t, jane(labelName+"*"), tc.old, tc.after), "")
		})
	}
}
