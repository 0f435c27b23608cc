package web

import (
	"context"
	"fmt"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/console"
)

// Member implements console.Members: the lease and the works in the namespace of the cluster, where the user may read them.
func (h *Hub) Member(ctx context.Context, cluster string) (*console.Member, error) {
	out := &console.Member{}
	lease := &coordinationv1.Lease{}
	err := h.works.Get(ctx, client.ObjectKey{Namespace: cluster, Name: clusterv1.ManagedClusterLeaseName}, lease)
	if err := out.ReportLease(cluster, lease.Spec.RenewTime, lease.Spec.AcquireTime, err); err != nil {
		return nil, err //nolint:wrapcheck // it names the cluster
	}
	list := &workv1.ManifestWorkList{}
	err = h.works.List(ctx, list, client.InNamespace(cluster), client.Limit(console.MaxWorks)) // with their manifests, which may be large
	switch {
	case apierrors.IsForbidden(err):
		out.WorksProblem = "You may not list the works in the namespace " + cluster + "."
		return out, nil
	case apierrors.IsNotFound(err):
		return out, nil // the hub has no works
	case err != nil:
		return nil, fmt.Errorf("listing the works of the cluster %s: %w", cluster, err)
	}
	unread := 0
	if list.RemainingItemCount != nil {
		unread = int(*list.RemainingItemCount)
	}
	out.ReportWorks(list.Items, unread, h.clock.Now())
	return out, nil
}
