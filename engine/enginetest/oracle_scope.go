package enginetest

import (
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/engine/fleet"
)

// scope is which clusters a placement may choose from.
type scope struct {
	valid, eligible []string
	// candidates include the held clusters. A held cluster is selected, is in no readable set, and may be in an
	// unreadable set.
	candidates, held map[string]bool
	// problems are the faults of the unreadable sets.
	problems []string
}

// candidateScope returns the scope of all bound sets, or of the requested ones among them.
func (r *run) candidateScope(requested []string, incumbents map[string]bool) scope {
	out := scope{candidates: map[string]bool{}, held: map[string]bool{}}
	for _, name := range slices.Sorted(maps.Keys(r.w.Bindings[r.key.Namespace])) {
		set := r.w.Sets[name]
		if set == nil {
			continue
		}
		out.valid = append(out.valid, name)
		if len(requested) > 0 && !slices.Contains(requested, name) {
			continue
		}
		out.eligible = append(out.eligible, name)
		if unreadable(set) {
			out.problems = append(out.problems, "ManagedClusterSet:"+name+": "+fleet.NewSet(set).Errors.ToAggregate().Error())
			continue
		}
		for cluster, object := range r.w.Clusters {
			if object.DeletionTimestamp == nil && member(set, object) {
				out.candidates[cluster] = true
			}
		}
	}
	if len(out.problems) == 0 {
		return out
	}
	for name := range incumbents {
		if !out.candidates[name] && r.w.Clusters[name].DeletionTimestamp == nil {
			out.held[name] = true
		}
	}
	maps.Copy(out.candidates, out.held)
	return out
}

// Reachable reports whether a namespace may reach a cluster, set by set. An unreadable set may have it.
func (s *State) Reachable(namespace, cluster string) bool {
	object := s.Clusters[cluster]
	if object == nil {
		return false
	}
	for name := range s.Bindings[namespace] {
		if set := s.Sets[name]; set != nil && (unreadable(set) || member(set, object)) {
			return true
		}
	}
	return false
}

// unreadable reports whether the selector of a set is invalid.
func unreadable(set *clusterv1beta2.ManagedClusterSet) bool {
	selector := set.Spec.ClusterSelector
	switch selector.SelectorType {
	case "", "ExclusiveClusterSetLabel":
		return false
	case "LabelSelector":
		_, err := metav1.LabelSelectorAsSelector(selector.LabelSelector)
		return err != nil
	case "ExclusiveLabel":
		return selector.ExclusiveLabel == nil
	default:
		return true
	}
}

func member(set *clusterv1beta2.ManagedClusterSet, cluster *clusterv1.ManagedCluster) bool {
	selector := set.Spec.ClusterSelector
	switch selector.SelectorType {
	case "LabelSelector":
		return selector.LabelSelector != nil && labelsMatch(*selector.LabelSelector, cluster)
	case "ExclusiveLabel":
		value, ok := cluster.Labels[selector.ExclusiveLabel.Key]
		return ok && value == selector.ExclusiveLabel.Value
	default:
		value, ok := cluster.Labels["cluster.open-cluster-management.io/clusterset"]
		return ok && value == set.Name
	}
}

// labelsMatch uses the selectors of apimachinery.
func labelsMatch(selector metav1.LabelSelector, cluster *clusterv1.ManagedCluster) bool {
	compiled, err := metav1.LabelSelectorAsSelector(&selector)
	return err == nil && compiled.Matches(labels.Set(cluster.Labels))
}

// claimsMatch compares claims as text: any value is allowed.
func claimsMatch(selector clusterv1beta1.ClusterClaimSelector, cluster *clusterv1.ManagedCluster) bool {
	claims := map[string]string{}
	for _, claim := range cluster.Status.ClusterClaims {
		claims[claim.Name] = claim.Value
	}
	for name, want := range selector.MatchClaims {
		if value, has := claims[name]; !has || value != want {
			return false
		}
	}
	for _, want := range selector.MatchExpressions {
		value, has := claims[want.Key]
		among := has && slices.Contains(want.Values, value)
		ok := map[metav1.LabelSelectorOperator]bool{"In": among, "NotIn": !among, "Exists": has, "DoesNotExist": !has}[want.Operator]
		if !ok {
			return false
		}
	}
	return true
}

func outside(cluster *clusterv1.ManagedCluster) string {
	if cluster.DeletionTimestamp != nil {
		return "Terminating"
	}
	return "OutsideSets"
}

func names(in map[string]bool) []string { return slices.Sorted(maps.Keys(in)) }

func count(n int, what string) string { return fmt.Sprintf("%d %s", n, what) }
