package console

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/internal/source/file"
)

// TestAHeldPlacementIsShown: files are decided anew, so that the page of a hub alone has the stored conditions.
func TestAHeldPlacementIsShown(t *testing.T) {
	placement := &clusterv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "edited"}}
	placement.Status.Conditions = []metav1.Condition{{
		Type: clusterv1beta1.PlacementConditionEditHeld, Status: metav1.ConditionTrue, Reason: clusterv1beta1.ReasonEmptiesPlacement,
	}}
	got := heldBack(&file.Bundle{Placements: []*clusterv1beta1.Placement{placement, {}}})
	if len(got) != 1 || holdPath(got[0]) != "/placements/shop/edited" {
		t.Errorf("held back: %+v", got)
	}
}
