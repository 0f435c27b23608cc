package managedcluster

import (
	"context"
	"fmt"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
)

// checkImported rejects a change of the annotations of imported clusters without the permission to accept the cluster. They decide that no
// lease is expected, that no work is delivered, and which profile is the cluster's.
func (r Request) checkImported(ctx context.Context) error {
	for _, key := range []string{clusterv1.InventoryProfileAnnotationKey, clusterv1.InventoryManagerAnnotationKey} {
		before := ""
		if r.Old != nil {
			before = r.Old.Annotations[key]
		}
		if r.New.Annotations[key] != before {
			return r.require(ctx, fmt.Sprintf("change the annotation %s", key), acceptPermission(r.New.Name))
		}
	}
	return nil
}
