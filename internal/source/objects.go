package source

import (
	"context"
	"fmt"
	"iter"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
)

// Objects are all objects of a hub that decisions depend on.
type Objects struct {
	Clusters   clusterv1.ManagedClusterList
	Scores     clusterv1alpha1.AddOnPlacementScoreList
	Sets       clusterv1beta2.ManagedClusterSetList
	Bindings   clusterv1beta2.ManagedClusterSetBindingList
	Placements clusterv1beta1.PlacementList
	Slices     clusterv1beta1.PlacementDecisionList
}

// List lists all of them in six requests. The lists are not of one instant unless the hub is idle.
func List(ctx context.Context, from client.Reader) (*Objects, error) {
	out := &Objects{}
	for _, list := range []client.ObjectList{
		&out.Clusters, &out.Scores, &out.Sets, &out.Bindings, &out.Placements, &out.Slices,
	} {
		if err := from.List(ctx, list); err != nil {
			return nil, fmt.Errorf("listing the fleet: %w", err)
		}
	}
	return out, nil
}

// All ranges over every object, the kinds in the order of the fields.
func (o *Objects) All() iter.Seq[client.Object] {
	return func(yield func(client.Object) bool) {
		_ = each(o.Clusters.Items, yield) && each(o.Scores.Items, yield) && each(o.Sets.Items, yield) &&
			each(o.Bindings.Items, yield) && each(o.Placements.Items, yield) && each(o.Slices.Items, yield)
	}
}

// object is a pointer to a T that is an object of the API.
type object[T any] interface {
	*T
	client.Object
}

// each yields the items until yield returns false.
func each[T any, P object[T]](items []T, yield func(client.Object) bool) bool {
	for i := range items {
		if !yield(P(&items[i])) {
			return false
		}
	}
	return true
}
