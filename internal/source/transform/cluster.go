package transform

import (
	"bytes"
	"maps"
	"slices"
	"sync"
	"weak"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
)

// fewClusters is how many names are remembered before those that are gone are looked for.
const fewClusters = 1024

// clusters remembers the last state of each cluster for as long as somebody else does.
type clusters struct {
	mu   sync.Mutex
	last map[string]weak.Pointer[clusterv1.ManagedCluster]
	// full is how many names there may be before those that are gone are forgotten.
	full int
}

// Cluster slims a ManagedCluster. What the last state of the same cluster said too is shared with it: a heartbeat
// holds nothing but what it changes, however many states of a cluster somebody holds. Annotations stay as they are, since
// expressions may read them.
func (s *Transformer) Cluster(object any) (any, error) {
	c, ok := object.(*clusterv1.ManagedCluster)
	if !ok {
		return object, nil
	}
	c.ManagedFields = nil
	before := s.clusters.replace(c)
	if before == nil {
		before = &clusterv1.ManagedCluster{}
	}
	s.interner.lock()
	defer s.interner.unlock()
	c.Labels = s.shared(before.Labels, c.Labels)
	c.Annotations = s.shared(before.Annotations, c.Annotations)
	c.Status.ClusterClaims = s.claims(before.Status.ClusterClaims, c.Status.ClusterClaims)
	c.Status.Conditions = s.clusterConditions(before.Status.Conditions, c.Status.Conditions)
	c.Status.Capacity = amounts(before.Status.Capacity, c.Status.Capacity)
	c.Status.Allocatable = amounts(before.Status.Allocatable, c.Status.Allocatable)
	c.Spec.ManagedClusterClientConfigs = configs(before.Spec.ManagedClusterClientConfigs, c.Spec.ManagedClusterClientConfigs)
	for i := range c.Spec.Taints {
		s.interner.intern(&c.Spec.Taints[i].Key)
		s.interner.intern(&c.Spec.Taints[i].Value)
	}
	s.interner.intern(&c.Status.Version.Kubernetes)
	return c, nil
}

// shared returns a map that holds what after does: before, where that does.
func (s *Transformer) shared(before, after map[string]string) map[string]string {
	if before != nil && maps.Equal(before, after) {
		return before
	}
	return s.interner.internMap(after)
}

func (s *Transformer) claims(before, after []clusterv1.ManagedClusterClaim) []clusterv1.ManagedClusterClaim {
	if len(before) > 0 && slices.Equal(before, after) {
		return before
	}
	for i := range after {
		s.interner.intern(&after[i].Name)
		s.interner.intern(&after[i].Value)
	}
	return clip(after)
}

func (s *Transformer) clusterConditions(before, after []metav1.Condition) []metav1.Condition {
	if len(before) > 0 && slices.Equal(before, after) {
		return before
	}
	for i := range after {
		if i < len(before) && repeats(&before[i], &after[i]) {
			continue
		}
		s.conditions(after[i : i+1])
	}
	return clip(after)
}

// repeats says whether a condition says the same as before, but for its message and when. What it says is shared then. A
// message that is new where nothing else is, is taken for the only one of its kind, such as one with a time in it.
func repeats(before, after *metav1.Condition) bool {
	if after.Type != before.Type || after.Status != before.Status || after.Reason != before.Reason {
		return false
	}
	after.Type, after.Reason = before.Type, before.Reason
	if after.Message == before.Message {
		after.Message = before.Message
	}
	return true
}

func amounts(before, after clusterv1.ResourceList) clusterv1.ResourceList {
	if len(before) > 0 && maps.Equal(before, after) {
		return before
	}
	return after
}

func configs(before, after []clusterv1.ClientConfig) []clusterv1.ClientConfig {
	same := func(a, b clusterv1.ClientConfig) bool { return a.URL == b.URL && bytes.Equal(a.CABundle, b.CABundle) }
	if len(before) > 0 && slices.EqualFunc(before, after, same) {
		return before
	}
	return clip(after)
}

// replace remembers the state of a cluster, and returns the one before; nil where nobody holds it.
func (c *clusters) replace(state *clusterv1.ManagedCluster) (before *clusterv1.ManagedCluster) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before = c.last[state.Name].Value()
	if len(c.last) >= max(c.full, fewClusters) {
		maps.DeleteFunc(c.last, func(_ string, last weak.Pointer[clusterv1.ManagedCluster]) bool { return last.Value() == nil })
		c.full = 2 * len(c.last)
	}
	if c.last == nil {
		c.last = map[string]weak.Pointer[clusterv1.ManagedCluster]{}
	}
	c.last[state.Name] = weak.Make(state)
	return before
}
