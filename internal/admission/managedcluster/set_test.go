package managedcluster_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/internal/admission/managedcluster"
)

// TestAClusterIsPutIntoASetThatDoesNotExist gives clusters the clusterset label. Only the set dev exists.
func TestAClusterIsPutIntoASetThatDoesNotExist(t *testing.T) {
	in := func(set string) *clusterv1.ManagedCluster {
		return cluster().Label(clusterv1beta2.ClusterSetLabel, set).Obj()
	}
	warned := []string{`the label cluster.open-cluster-management.io/clusterset names the set "dve", which does not exist: ` +
		"the cluster is in no exclusive set until it is created"}
	for sentence, test := range map[string]struct {
		old, after *clusterv1.ManagedCluster
		err        error
		want       []string
	}{
		"created in it":                  {after: in("dve"), want: warned},
		"moved to it":                    {old: in("dev"), after: in("dve"), want: warned},
		"it was there before":            {old: in("dve"), after: in("dve")},
		"created in another":             {after: in("dev")},
		"created in none":                {after: cluster().Obj()},
		"taken out of it":                {old: in("dve"), after: cluster().Obj()},
		"created in it, sets not served": {after: in("dve"), err: errBoom},
	} {
		t.Run(sentence, func(t *testing.T) {
			sets := func(_ context.Context, name string) (bool, error) { return name == "dev", test.err }
			none := func(context.Context, string) (managedcluster.Namespace, error) {
				return managedcluster.Namespace{}, nil
			}
			got := managedcluster.Request{Old: test.old, New: test.after, User: jane()}.Warnings(t.Context(), none, sets)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}
