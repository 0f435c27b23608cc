package kit

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
)

// Selected returns the distinct clusters in the slices with the label of a placement, sorted.
func (c *Client) Selected(ctx context.Context, namespace, placement string) ([]string, error) {
	list := &clusterv1beta1.PlacementDecisionList{}
	err := c.List(ctx, list, client.InNamespace(namespace), client.MatchingLabels{clusterv1beta1.PlacementLabel: placement})
	return ClustersIn(list.Items), err
}

// ClustersIn returns the distinct clusters in slices, sorted.
func ClustersIn(decisions []clusterv1beta1.PlacementDecision) []string {
	out := map[string]bool{}
	for i := range decisions {
		for _, decision := range decisions[i].Status.Decisions {
			out[decision.ClusterName] = true
		}
	}
	return slices.Sorted(maps.Keys(out))
}

// AwaitSelected waits until the slices of a placement name exactly these clusters, which are sorted.
func (c *Client) AwaitSelected(namespace, placement string, clusters ...string) {
	c.t.Helper()
	c.Await(fmt.Sprintf("placement %s/%s has selected %v", namespace, placement, clusters), func(ctx context.Context) error {
		got, err := c.Selected(ctx, namespace, placement)
		if err == nil && !slices.Equal(got, clusters) {
			err = fmt.Errorf("it has %v", got)
		}
		return err
	})
}
