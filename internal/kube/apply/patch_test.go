package apply

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
)

func TestThePatchRemovesTheDeprecatedAnnotation(t *testing.T) {
	got := annotationPatch(map[string]string{clusterv1beta1.DecisionStrategyAnnotation: "x"})
	want := map[string]any{"berth-project.io/decision-strategy-hash": "x", "cluster.open-cluster-management.io/decision-strategy-hash": nil}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("patch (-want +got):\n%s", diff)
	}
}
