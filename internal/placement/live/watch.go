package live

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/cache"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/internal/placement/brake"
	"github.com/berth-project/berth/internal/source/informer"
)

// Watch updates the fleet and what is stored from the informers of every kind that decisions read. The caller calls Ready once synced
// returns true.
func Watch(ctx context.Context, informers cache.Cache, f *Fleet, s *Stored, b *brake.Brake) (synced func() bool, err error) {
	return informer.Watch(ctx, informers,
		informer.To(&clusterv1.ManagedCluster{}, func(_, c *clusterv1.ManagedCluster) { f.SetCluster(c) }, f.DeleteCluster),
		informer.To(&clusterv1alpha1.AddOnPlacementScore{},
			func(_, score *clusterv1alpha1.AddOnPlacementScore) { f.SetScore(score) }, f.DeleteScore),
		informer.To(&clusterv1beta2.ManagedClusterSet{},
			func(before, set *clusterv1beta2.ManagedClusterSet) { b.Observe(set); f.SetSet(before, set) },
			f.DeleteSet),
		informer.To(&clusterv1beta2.ManagedClusterSetBinding{},
			func(_, b *clusterv1beta2.ManagedClusterSetBinding) { f.SetBinding(b) }, f.DeleteBinding),
		informer.To(&clusterv1beta1.Placement{}, func(_, p *clusterv1beta1.Placement) { s.SetPlacement(p) }, s.DeletePlacement),
		informer.To(&clusterv1beta1.PlacementDecision{}, func(_, d *clusterv1beta1.PlacementDecision) { s.SetSlice(d) }, s.DeleteSlice),
	)
}
