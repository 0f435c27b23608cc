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

// Entries returns the clusters in the slices with the label of a placement, sorted. A cluster that is there twice is returned twice.
func (c *Client) Entries(ctx context.Context, namespace, placement string) ([]string, error) {
	list := &clusterv1beta1.PlacementDecisionList{}
	err := c.List(ctx, list, client.InNamespace(namespace), client.MatchingLabels{clusterv1beta1.PlacementLabel: placement})
	var out []string
	for i := range list.Items {
		for _, decision := range list.Items[i].Status.Decisions {
			out = append(out, decision.ClusterName)
		}
	}
	slices.Sort(out)
	return out, err
}

// AwaitSelected waits until the slices of a placement name exactly these clusters, each once. The clusters are sorted.
func (c *Client) AwaitSelected(namespace, placement string, clusters ...string) {
	c.t.Helper()
	c.Await(fmt.Sprintf("placement %s/%s has selected %v", namespace, placement, clusters), func(ctx context.Context) error {
		got, err := c.Entries(ctx, namespace, placement)
		if err == nil && !slices.Equal(got, clusters) {
			err = fmt.Errorf("it has %v", got)
		}
		return err
	})
}

// AwaitCount waits until the status of a placement counts a number of selected clusters.
func (c *Client) AwaitCount(namespace, placement string, clusters int32) {
	c.t.Helper()
	object := Placement(namespace, placement)
	c.AwaitObject(object, fmt.Sprintf("placement %s/%s counts %d clusters", namespace, placement, clusters), func() error {
		if got := object.Status.NumberOfSelectedClusters; got != clusters {
			return fmt.Errorf("it counts %d", got)
		}
		return nil
	})
}
