// Package placed reads a placement with its decision from a cache, for the appliers of rollouts.
//
// It decides nothing. The invariant: a placement that does not exist is the zero value and no error, and every other failure is an error.
package placed

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/decision"
	"github.com/berth-project/berth/internal/kube/reading"
)

// Read returns a placement and its decision. The decision is read-only.
func Read(ctx context.Context, from client.Reader, key types.NamespacedName) (reading.Placement, error) {
	placement := &clusterv1beta1.Placement{}
	if err := from.Get(ctx, key, placement); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return reading.Placement{}, nil
		}
		return reading.Placement{}, fmt.Errorf("reading Placement %s: %w", key, err)
	}
	list := &clusterv1beta1.PlacementDecisionList{}
	selected := client.MatchingLabelsSelector{Selector: decision.Selector(key.Name)}
	if err := from.List(ctx, list, client.InNamespace(key.Namespace), selected, client.UnsafeDisableDeepCopy); err != nil {
		return reading.Placement{}, fmt.Errorf("listing the decisions of Placement %s: %w", key, err)
	}
	return reading.Placement{Object: placement, Decisions: decision.OfList(list)}, nil
}
