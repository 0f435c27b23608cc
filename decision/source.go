package decision

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
)

// maxPages is the most pages of one list that are read.
const maxPages = 1000

// Lister lists the slices of one namespace from a cache, as listers of client-go do.
type Lister interface {
	List(selector labels.Selector) ([]*clusterv1beta1.PlacementDecision, error)
}

// Client lists the slices of one namespace from a server, as typed clients of client-go do.
type Client interface {
	List(ctx context.Context, options metav1.ListOptions) (*clusterv1beta1.PlacementDecisionList, error)
}

// Selector matches the slices of a placement. They are in its namespace.
func Selector(placement string) labels.Selector {
	return labels.SelectorFromSet(labels.Set{clusterv1beta1.PlacementLabel: placement})
}

// FromLister reads the decisions of a placement from a cache. They are as old as the cache.
func FromLister(lister Lister, placement string) (Decisions, error) {
	found, err := lister.List(Selector(placement))
	if err != nil {
		return Decisions{}, fmt.Errorf("listing the decisions of placement %s: %w", placement, err)
	}
	return fromSlices(found), nil
}

// FromClient reads the decisions of a placement from a server, page by page if the server divides the list.
func FromClient(ctx context.Context, client Client, placement string) (Decisions, error) {
	options := metav1.ListOptions{LabelSelector: Selector(placement).String()}
	var found []*clusterv1beta1.PlacementDecision
	for range maxPages {
		list, err := client.List(ctx, options)
		if err != nil {
			return Decisions{}, fmt.Errorf("listing the decisions of placement %s: %w", placement, err)
		}
		for i := range list.Items {
			found = append(found, &list.Items[i])
		}
		if list.Continue == "" {
			return fromSlices(found), nil
		}
		options.Continue = list.Continue
	}
	return Decisions{}, fmt.Errorf("listing the decisions of placement %s: the list has more than %d pages", placement, maxPages)
}
