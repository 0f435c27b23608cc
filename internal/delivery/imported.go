package delivery

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/delivery/plan"
	"github.com/berth-project/berth/internal/membership/registration"
)

const (
	// importedIndex is the index of the clusters that have no agent of this hub.
	importedIndex, isImported = "replicaset.imported", "true"
	// importedReason is why such a cluster gets no work.
	importedReason = "the cluster is imported from another inventory and has no agent that applies works"
)

// indexImported returns the key of an imported cluster in its index.
func indexImported(object client.Object) []string {
	if cluster, ok := object.(*clusterv1.ManagedCluster); ok && registration.Imported(cluster) {
		return []string{isImported}
	}
	return nil
}

// undeliverable returns why no agent fetches works for clusters, by cluster: those that are imported, and those that were in the last pass,
// are gone, and are still in a decision.
func (r *reconciler) undeliverable(ctx context.Context, s *setState, in *plan.Input) (map[string]string, error) {
	list := &clusterv1.ManagedClusterList{}
	if err := r.client.List(ctx, list, client.MatchingFields{importedIndex: isImported}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the imported clusters: %w", err)
	}
	out := make(map[string]string, len(list.Items))
	for i := range list.Items {
		out[list.Items[i].Name] = importedReason
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.undeliverable {
		if out[name] != "" || !selects(in, name) {
			continue
		}
		err := r.client.Get(ctx, client.ObjectKey{Name: name}, &clusterv1.ManagedCluster{})
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("reading ManagedCluster %s: %w", name, err)
		}
		if apierrors.IsNotFound(err) {
			out[name] = importedReason
		}
	}
	s.undeliverable = out
	return out, nil
}

// selects reports whether a placement of a plan selects a cluster.
func selects(in *plan.Input, cluster string) bool {
	for _, placement := range in.Placements {
		if placement.Decisions.Has(cluster) {
			return true
		}
	}
	return false
}
