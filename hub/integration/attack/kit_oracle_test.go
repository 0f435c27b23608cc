package attack

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
)

var (
	errUnreachable = errors.New("a namespace has a cluster that it may not reach")
	errUndecided   = errors.New("not decided yet")
)

// hubState is the stored objects that determine which clusters a namespace may reach.
type hubState struct {
	clusters   clusterv1.ManagedClusterList
	sets       clusterv1beta2.ManagedClusterSetList
	bindings   clusterv1beta2.ManagedClusterSetBindingList
	placements clusterv1beta1.PlacementList
	slices     clusterv1beta1.PlacementDecisionList
}

// readHub lists the objects. It lists slices first, because a later revocation does not make them wrong.
func readHub(ctx context.Context, from client.Reader) (*hubState, error) {
	out := &hubState{}
	for _, list := range []client.ObjectList{&out.slices, &out.placements, &out.bindings, &out.sets, &out.clusters} {
		if err := from.List(ctx, list); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// member returns whether a cluster is in a set: by the selector of its spec, or by the former one while an edit is held that would take
// every member away.
func member(set *clusterv1beta2.ManagedClusterSet, cluster *clusterv1.ManagedCluster) bool {
	by := set.Spec.ClusterSelector
	held := meta.FindStatusCondition(set.Status.Conditions, clusterv1beta2.ManagedClusterSetConditionSelectorHeld)
	if held != nil && held.Status == metav1.ConditionTrue && held.ObservedGeneration == set.Generation && set.Status.ClusterSelector != nil {
		by = *set.Status.ClusterSelector
	}
	switch by.SelectorType {
	case "", clusterv1beta2.ExclusiveClusterSetLabel:
		return cluster.Labels[clusterv1beta2.ClusterSetLabel] == set.Name
	case clusterv1beta2.ExclusiveLabel:
		value, has := cluster.Labels[by.ExclusiveLabel.Key]
		return has && value == by.ExclusiveLabel.Value
	default:
		selector, err := metav1.LabelSelectorAsSelector(by.LabelSelector)
		return err == nil && selector.Matches(labels.Set(cluster.Labels))
	}
}

// whyUnreachable returns why a namespace may not reach a cluster, or "" if it may.
func (s *hubState) whyUnreachable(namespace, name string, terminating bool) (why string) {
	var cluster *clusterv1.ManagedCluster
	for i := range s.clusters.Items {
		if s.clusters.Items[i].Name == name {
			cluster = &s.clusters.Items[i]
		}
	}
	if cluster == nil || cluster.DeletionTimestamp != nil && !terminating {
		return "the cluster is gone"
	}
	for _, binding := range s.bindings.Items {
		if binding.Namespace != namespace || binding.DeletionTimestamp != nil {
			continue
		}
		for i := range s.sets.Items {
			if s.sets.Items[i].Name == binding.Spec.ClusterSet && member(&s.sets.Items[i], cluster) {
				return ""
			}
		}
	}
	return "no set with the cluster is bound"
}

// placementOf returns the placement that a slice belongs to, or nil.
func (s *hubState) placementOf(slice *clusterv1beta1.PlacementDecision) *clusterv1beta1.Placement {
	for i := range s.placements.Items {
		placement := &s.placements.Items[i]
		if placement.Namespace != slice.Namespace {
			continue
		}
		if owner := metav1.GetControllerOf(slice); owner != nil {
			if owner.UID == placement.UID {
				return placement
			}
		} else if slice.Labels[clusterv1beta1.PlacementLabel] == placement.Name {
			return placement
		}
	}
	return nil
}

// decided returns whether the manager decides a placement.
func decided(placement *clusterv1beta1.Placement) bool {
	return placement != nil && placement.DeletionTimestamp == nil && placement.Annotations[clusterv1beta1.PlacementDisableAnnotation] != "true"
}

// checkReachable returns an error if a slice names a cluster that its namespace may not reach. If the manager does not decide a
// placement, only the slices that Berth wrote count.
func (s *hubState) checkReachable() error {
	for i := range s.slices.Items {
		slice := &s.slices.Items[i]
		active := decided(s.placementOf(slice))
		if clusterv1beta1.DecisionStrategyHash(slice) == "" && !active {
			continue
		}
		for _, entry := range slice.Status.Decisions {
			if why := s.whyUnreachable(slice.Namespace, entry.ClusterName, !active); why != "" {
				return fmt.Errorf("%w: slice %s/%s names %s, and %s", errUnreachable, slice.Namespace, slice.Name, entry.ClusterName, why)
			}
		}
	}
	return nil
}

// checkObserved returns an error until the current generation of each placement is decided.
func (s *hubState) checkObserved() error {
	for i := range s.placements.Items {
		placement := &s.placements.Items[i]
		if !decided(placement) {
			continue
		}
		current := func(condition metav1.Condition) bool { return condition.ObservedGeneration == placement.Generation }
		if !slices.ContainsFunc(placement.Status.Conditions, current) {
			return fmt.Errorf("%w: placement %s/%s", errUndecided, placement.Namespace, placement.Name)
		}
	}
	return nil
}
