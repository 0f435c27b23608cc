package v1_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
)

// Not being accepted and not having a time are written down; everything else that is unset is left out.
func TestJSON(t *testing.T) {
	got, err := json.Marshal(&clusterv1.ManagedCluster{Spec: clusterv1.ManagedClusterSpec{
		Taints: []clusterv1.Taint{{Key: "a", Effect: clusterv1.TaintEffectNoSelect}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"metadata":{},"spec":{"hubAcceptsClient":false,"taints":[{"key":"a","effect":"NoSelect","timeAdded":null}]}}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("JSON (-want +got):\n%s", diff)
	}
}
