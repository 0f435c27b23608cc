package decision_test

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/decision"
)

// listerFunc makes a lister of a function. Controllers have a lister over the store of an informer, such as a
// PlacementDecisionNamespaceLister.
type listerFunc func(labels.Selector) ([]*clusterv1beta1.PlacementDecision, error)

func (f listerFunc) List(selector labels.Selector) ([]*clusterv1beta1.PlacementDecision, error) {
	return f(selector)
}

// A lister needs one method.
func ExampleFromLister() {
	var lister listerFunc = func(labels.Selector) ([]*clusterv1beta1.PlacementDecision, error) {
		return []*clusterv1beta1.PlacementDecision{slice(1, "0", "canary", "eu-1"), slice(2, "1", "", "us-1", "eu-2")}, nil
	}
	set, err := decision.FromLister(lister, "web")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, group := range set.Groups() {
		fmt.Println(group.GroupKey, strings.Join(group.Clusters, " "))
	}
	// Output:
	// 0 (canary) eu-1
	// 1 eu-2 us-1
}

// The client of controller-runtime fills a list: client.List(ctx, list, client.InNamespace("shop"),
// client.MatchingLabelsSelector{Selector: decision.Selector("web")}).
func ExampleOfList() {
	list := &clusterv1beta1.PlacementDecisionList{Items: []clusterv1beta1.PlacementDecision{*slice(1, "0", "", "eu-1", "us-1")}}
	fmt.Println(decision.OfList(list).Len(), "clusters")
	// Output: 2 clusters
}

// clientFunc makes a client of a function.
type clientFunc func(context.Context, metav1.ListOptions) (*clusterv1beta1.PlacementDecisionList, error)

func (f clientFunc) List(ctx context.Context, options metav1.ListOptions) (*clusterv1beta1.PlacementDecisionList, error) {
	return f(ctx, options)
}

// A client needs one method. Long lists are read page by page.
func ExampleFromClient() {
	var typed clientFunc = func(context.Context, metav1.ListOptions) (*clusterv1beta1.PlacementDecisionList, error) {
		return &clusterv1beta1.PlacementDecisionList{Items: []clusterv1beta1.PlacementDecision{*slice(1, "0", "", "eu-1", "us-1")}}, nil
	}
	set, err := decision.FromClient(context.Background(), typed, "web")
	if err != nil {
		fmt.Println(err)
		return
	}
	for cluster := range set.ClusterNames() {
		fmt.Println(cluster)
	}
	// Output:
	// eu-1
	// us-1
}

// A cluster that moves is in two slices for a moment. It stays selected, and counts once.
func ExampleDecisions_Inconsistent() {
	set := decision.Of(slice(1, "0", "canary", "eu-1", "eu-2"), slice(2, "1", "", "eu-2", "us-1"))
	fmt.Println(set.Len(), set.Inconsistent(), set.Inconsistencies())
	// Output:
	// 3 true [cluster eu-2 is in two slices]
}

// A controller installs on added clusters and cleans up on removed ones.
func ExampleDiff() {
	before := decision.Of(slice(1, "0", "", "eu-1", "eu-2"))
	after := decision.Of(slice(1, "0", "", "eu-2", "us-1"))
	change := decision.Diff(before, after)
	fmt.Println("install on", change.Added)
	fmt.Println("clean up on", change.Removed)
	// Output:
	// install on [us-1]
	// clean up on [eu-1]
}

// The handler of a watch updates the tracker and queues the returned placements. A worker takes the changes.
func ExampleTracker() {
	tracker := decision.NewTracker()
	queue := tracker.Update(slice(1, "0", "", "eu-1", "eu-2"))
	queue = append(queue, tracker.Update(slice(1, "0", "", "eu-2", "us-1"))...)

	for _, placement := range queue {
		set, change := tracker.Take(placement)
		fmt.Println(placement, "has", set.Len(), "clusters, added", change.Added, "removed", change.Removed)
	}
	// Output:
	// shop/web has 2 clusters, added [eu-2 us-1] removed []
	// shop/web has 2 clusters, added [] removed []
}
