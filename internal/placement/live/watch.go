package live

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/cache"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/internal/source/informer"
)

// Watch updates the state from the informers of every kind that it reads. The caller calls Ready once synced returns true.
func (s *State) Watch(ctx context.Context, informers cache.Cache) (synced func() bool, err error) {
	return informer.Watch(ctx, informers,
		informer.To(&clusterv1.ManagedCluster{}, func(_, c *clusterv1.ManagedCluster) { s.SetCluster(c) }, s.DeleteCluster),
		informer.To(&clusterv1alpha1.AddOnPlacementScore{}, func(_, slice *clusterv1alpha1.AddOnPlacementScore) { s.SetScore(slice) }, s.DeleteScore),
		informer.To(&clusterv1beta2.ManagedClusterSet{}, s.SetSet, s.DeleteSet),
		informer.To(&clusterv1beta2.ManagedClusterSetBinding{}, func(_, b *clusterv1beta2.ManagedClusterSetBinding) { s.SetBinding(b) }, s.DeleteBinding),
		informer.To(&clusterv1beta1.Placement{}, func(_, p *clusterv1beta1.Placement) { s.SetPlacement(p) }, s.DeletePlacement),
		informer.To(&clusterv1beta1.PlacementDecision{}, func(_, d *clusterv1beta1.PlacementDecision) { s.SetSlice(d) }, s.DeleteSlice),
	)
}
