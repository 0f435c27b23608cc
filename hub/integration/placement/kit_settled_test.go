package placement

import (
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// awaitFixedPoint waits until the stored state of the hub is a fixed point, and compares it with the oracle.
func awaitFixedPoint(t *testing.T) {
	t.Helper()
	shared.AwaitFixedPoint(t, testTimeout)
}

// awaitGarbageCollected waits until Kubernetes' controllers have deleted the objects of earlier tests. The API server then counts only
// requests of this test.
func awaitGarbageCollected(t *testing.T) {
	t.Helper()
	reader := kit.New(t, shared)
	kit.Await(t, "Kubernetes' controllers have deleted the objects of earlier tests", func(ctx context.Context) error {
		var namespaces corev1.NamespaceList
		var slices clusterv1beta1.PlacementDecisionList
		var placements clusterv1beta1.PlacementList
		if err := errors.Join(reader.List(ctx, &namespaces), reader.List(ctx, &slices), reader.List(ctx, &placements)); err != nil {
			return err
		}
		for _, namespace := range namespaces.Items {
			if !namespace.DeletionTimestamp.IsZero() {
				return fmt.Errorf("namespace %s is still there", namespace.Name)
			}
		}
		owners := map[types.UID]bool{}
		for _, placement := range placements.Items {
			owners[placement.UID] = true
		}
		for _, slice := range slices.Items {
			if owner := metav1.GetControllerOf(&slice); owner == nil || !owners[owner.UID] {
				return fmt.Errorf("slice %s/%s is still there", slice.Namespace, slice.Name)
			}
		}
		return nil
	})
}
