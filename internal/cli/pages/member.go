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
	"github.com/berth-project/berth/internal/console"
)

// maxWorks is how many works of a cluster a page shows. They are read with their manifests, which may be large.
const maxWorks = 50

// Member implements console.Members: the lease and the works in the namespace of the cluster, where the user may read them.
func (h *Hub) Member(ctx context.Context, cluster string) (*console.Member, error) {
	out := &console.Member{}
	lease := &coordinationv1.Lease{}
	err := h.works.Get(ctx, client.ObjectKey{Namespace: cluster, Name: clusterv1.ManagedClusterLeaseName}, lease)
	switch {
	case err == nil && lease.Spec.RenewTime != nil:
		out.Renewed = lease.Spec.RenewTime.Time
	case err == nil, apierrors.IsNotFound(err):
		out.LeaseProblem = "There is no lease: no agent has reported yet, or the hub reads the cluster without an agent."
	case apierrors.IsForbidden(err):
		out.LeaseProblem = "You may not get the lease in the namespace " + cluster + "."
	default:
		return nil, fmt.Errorf("reading the lease of the cluster %s: %w", cluster, err)
	}
	list := &workv1.ManifestWorkList{}
	err = h.works.List(ctx, list, client.InNamespace(cluster), client.Limit(maxWorks))
	switch {
	case apierrors.IsForbidden(err):
		out.WorksProblem = "You may not list the works in the namespace " + cluster + "."
		return out, nil
	case apierrors.IsNotFound(err):
		return out, nil // the hub has no works
	case err != nil:
		return nil, fmt.Errorf("listing the works of the cluster %s: %w", cluster, err)
	}
	for i := range list.Items {
		out.Works = append(out.Works, console.NewWork(&list.Items[i], h.clock.Now()))
	}
	more := 0
	if list.RemainingItemCount != nil {
		more = int(*list.RemainingItemCount)
	}
	limitWorks(out, more)
	return out, nil
}

// limitWorks sorts the works by name, and cuts those that a page does not show. More is how many were not read.
func limitWorks(of *console.Member, more int) {
	slices.SortFunc(of.Works, func(a, b console.Work) int { return strings.Compare(a.Name, b.Name) })
	shown := min(len(of.Works), maxWorks)
	of.Works, of.More = of.Works[:shown], more+len(of.Works)-shown
}
