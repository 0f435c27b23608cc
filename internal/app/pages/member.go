package pages

import (
	"context"
	"fmt"
	"slices"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/apiserver/visibility"
	"github.com/berth-project/berth/internal/console"
)

// maxWorks is how many works of a cluster a page shows.
const maxWorks = 50

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
		if err := r.readLease(ctx, cluster, out); err != nil {
			return nil, err
		}
	}
	switch {
	case r.users.options.Deliveries == nil:
		out.WorksProblem = "The manager delivers no workloads: its controller replicaset is off."
	case !r.allowed(ctx, "list", workv1.GroupVersion.WithResource("manifestworks"), cluster, ""):
		out.WorksProblem = "You may not list the works in the namespace " + cluster + "."
	default:
		if err := r.readWorks(ctx, cluster, out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (r *reader) readLease(ctx context.Context, cluster string, into *console.Member) error {
	lease := &coordinationv1.Lease{}
	err := r.users.objects.Get(ctx, client.ObjectKey{Namespace: cluster, Name: clusterv1.ManagedClusterLeaseName}, lease)
	switch {
	case err == nil && lease.Spec.RenewTime != nil:
		into.Renewed = lease.Spec.RenewTime.Time
	case err == nil, apierrors.IsNotFound(err):
		into.LeaseProblem = "There is no lease: no agent has reported yet, or the hub reads the cluster without an agent."
	default:
		return fmt.Errorf("reading the lease of the cluster %s: %w", cluster, err)
	}
	return nil
}

func (r *reader) readWorks(ctx context.Context, cluster string, into *console.Member) error {
	list := &workv1.ManifestWorkList{}
	if err := r.users.objects.List(ctx, list, client.InNamespace(cluster), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("reading the works of the cluster %s: %w", cluster, err)
	}
	slices.SortFunc(list.Items, func(a, b workv1.ManifestWork) int { return strings.Compare(a.Name, b.Name) })
	shown := min(len(list.Items), maxWorks)
	for i := range list.Items[:shown] {
		into.Works = append(into.Works, console.NewWork(&list.Items[i], r.users.options.Clock.Now()))
	}
	into.More = len(list.Items) - shown
	return nil
}
