package enginetest

import (
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
)

// Event applies a random change to a state, and returns its description.
func (r Random) Event(l *Live) string {
	switch n := r.IntN(100); {
	case n < 55:
		return r.ClusterEvent(l)
	case n < 63:
		return r.setEvent(l)
	case n < 70:
		return r.bindingEvent(l)
	case n < 80:
		return r.scoreEvent(l)
	case n < 88:
		return r.placementEvent(l)
	default:
		l.State.Now = l.State.Now.Add(time.Duration(1+r.IntN(6)) * 10 * time.Second)
		return "time passes"
	}
}

// ClusterEvent adds, changes or deletes a cluster.
func (r Random) ClusterEvent(l *Live) string {
	known := slices.Sorted(maps.Keys(l.State.Clusters))
	if len(known) == 0 || r.Chance(20) {
		name := clusterName(r.IntN(len(known) + 2))
		l.SetCluster(r.cluster(name))
		return "add " + name
	}
	name := one(r, known...)
	if r.Chance(12) {
		l.DeleteCluster(name)
		return "delete " + name
	}
	object := l.State.Clusters[name].DeepCopy()
	what := r.change(object)
	l.SetCluster(object)
	return what + " " + name
}

// change changes one property of a cluster.
func (r Random) change(c *clusterv1.ManagedCluster) string {
	if c.Labels == nil {
		c.Labels = map[string]string{}
	}
	b := &ClusterBuilder{object: *c}
	var what string
	switch r.IntN(9) {
	case 0, 1:
		b.Label(r.label())
		what = "relabel"
	case 2:
		b.In(one(r, "s1", "s2", "s3"))
		what = "move"
	case 3:
		key, _ := r.label()
		delete(b.object.Labels, one(r, key, "cluster.open-cluster-management.io/clusterset"))
		what = "unlabel"
	case 4:
		b.object.Status.ClusterClaims = nil
		for range r.IntN(3) {
			b.Claim(r.claim())
		}
		what = "claim"
	case 5:
		r.taint(b)
		what = "taint"
	case 6:
		b.object.Spec.Taints = nil
		what = "untaint"
	case 7:
		r.resource(b, one(r, clusterv1.ResourceCPU, clusterv1.ResourceMemory))
		what = "resize"
	default:
		return r.lifecycle(c)
	}
	*c = b.object
	return what
}

// lifecycle marks a cluster as being deleted, or sends a heartbeat.
func (r Random) lifecycle(c *clusterv1.ManagedCluster) string {
	if r.Chance(30) {
		c.DeletionTimestamp = &metav1.Time{Time: Epoch}
		return "terminate"
	}
	c.ResourceVersion += "1"
	c.Status.Conditions = []metav1.Condition{{Type: "ManagedClusterConditionAvailable", Status: "True", Reason: one(r, "A", "B")}}
	return "heartbeat of"
}

func (r Random) setEvent(l *Live) string {
	name := one(r, "s1", "s2", "s3")
	if _, exists := l.State.Sets[name]; exists && r.Chance(25) {
		l.DeleteSet(name)
		return "delete set " + name
	}
	l.SetSet(r.set(name))
	return "replace set " + name
}

func (r Random) bindingEvent(l *Live) string {
	namespace, set := one(r, namespaces...), r.setName()
	if l.State.Bindings[namespace][set] && r.Chance(60) {
		l.Unbind(namespace, set)
		return "unbind " + set + " from " + namespace
	}
	l.Bind(namespace, set)
	return "bind " + set + " to " + namespace
}

func (r Random) scoreEvent(l *Live) string {
	cluster := clusterName(r.IntN(max(len(l.State.Clusters), 1)))
	key := ScoreKey{cluster, one(r, "load", "cost")}
	if _, exists := l.State.Scores[key]; exists && r.Chance(30) {
		l.DeleteScore(key)
		return "delete score " + key.Resource + " of " + cluster
	}
	object := r.score(cluster)
	l.SetScore(object)
	return "score " + object.Name + " of " + cluster
}

// placementEvent replaces the spec of a placement, or a part of it.
func (r Random) placementEvent(l *Live) string {
	key := one(r, l.State.Keys()...)
	object := l.State.Placements[key].DeepCopy()
	drawn := r.placement(key.Namespace, key.Name).Spec
	switch r.IntN(5) {
	case 0:
		object.Spec.NumberOfClusters = drawn.NumberOfClusters
	case 1:
		object.Spec.DecisionStrategy = drawn.DecisionStrategy
	case 2:
		object.Spec.Tolerations = drawn.Tolerations
	case 3:
		object.Spec.ClusterSets = drawn.ClusterSets
	default:
		object.Spec = drawn
	}
	object.Generation++
	l.SetPlacement(object)
	return fmt.Sprintf("change the spec of %s", key)
}
