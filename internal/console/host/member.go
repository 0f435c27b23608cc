package host

import (
	"context"
	"fmt"

	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/console"
	"github.com/berth-project/berth/internal/views/visibility"
)

// Member implements console.Members: the lease and the works in the namespace of the cluster, where the user may read them there.
func (r *reader) Member(ctx context.Context, cluster string) (*console.Member, error) {
	if !r.visibleTo(visibility.Cluster)(cluster) {
		return nil, console.ErrNotFound
	}
	out := &console.Member{}
	switch {
	case !r.users.options.Leases:
		out.LeaseProblem = "The manager watches no leases: its controller health is off."
	case !r.allowed(ctx, "get", coordinationv1.SchemeGroupVersion.WithResource("leases"), cluster, clusterv1.ManagedClusterLeaseName):
		out.LeaseProblem = "You may not get the lease in the namespace " + cluster + "."
	default:
		lease := &coordinationv1.Lease{}
		err := r.users.objects.Get(ctx, client.ObjectKey{Namespace: cluster, Name: clusterv1.ManagedClusterLeaseName}, lease)
		if err := out.ReportLease(cluster, lease.Spec.RenewTime, lease.Spec.AcquireTime, err); err != nil {
			return nil, err //nolint:wrapcheck // it names the cluster
		}
	}
	switch {
	case r.users.options.Deliveries == nil:
		out.WorksProblem = "The manager delivers no workloads: its controller replicaset is off."
	case !r.allowed(ctx, "list", workv1.GroupVersion.WithResource("manifestworks"), cluster, ""):
		out.WorksProblem = "You may not list the works in the namespace " + cluster + "."
	default:
		list := &workv1.ManifestWorkList{}
		if err := r.users.objects.List(ctx, list, client.InNamespace(cluster), client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("reading the works of the cluster %s: %w", cluster, err)
		}
		out.ReportWorks(list.Items, 0, r.users.options.Clock.Now())
	}
	return out, nil
}
