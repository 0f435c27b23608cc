package managedcluster

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/admission/review"
	"github.com/berth-project/berth/internal/membership/registration"
)

// checkSimulated rejects the annotation of simulated clusters without the permission to accept the cluster, and for a cluster
// whose agent has reported: the hub must not overwrite the reports. Removing the annotation needs no permission.
func (c Request) checkSimulated(ctx context.Context) error {
	if !registration.SimulationRequested(c.New) || c.Old != nil && registration.SimulationRequested(c.Old) {
		return nil
	}
	if c.Old != nil && registration.Reported(c.Old) {
		path := field.NewPath("metadata", "annotations").Key(clusterv1.SimulatedAnnotationKey)
		return review.Invalid(schema.GroupKind{Group: clusterv1.GroupName, Kind: "ManagedCluster"}, c.New.Name, field.ErrorList{
			field.Forbidden(path, "an agent has joined the cluster, so that it cannot be simulated"),
		})
	}
	return c.require(ctx, fmt.Sprintf("set the annotation %s", clusterv1.SimulatedAnnotationKey), acceptPermission(c.New.Name))
}
