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
func (r Request) checkSimulated(ctx context.Context) error {
	if !registration.SimulationRequested(r.New) || r.Old != nil && registration.SimulationRequested(r.Old) {
		return nil
	}
	if r.Old != nil && registration.Reported(r.Old) {
		path := field.NewPath("metadata", "annotations").Key(clusterv1.SimulatedAnnotationKey)
		return review.Invalid(schema.GroupKind{Group: clusterv1.GroupName, Kind: "ManagedCluster"}, r.New.Name, field.ErrorList{
			field.Forbidden(path, "an agent has joined the cluster, so that it cannot be simulated"),
		})
	}
	return r.require(ctx, fmt.Sprintf("set the annotation %s", clusterv1.SimulatedAnnotationKey), acceptPermission(r.New.Name))
}
