package enginetest

import (
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
)

// ClusterBuilder builds a ManagedCluster.
type ClusterBuilder struct{ object clusterv1.ManagedCluster }

// Cluster starts a cluster without labels, claims and taints.
func Cluster(name string) *ClusterBuilder {
	return &ClusterBuilder{clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}}
}

// Label sets a label.
func (b *ClusterBuilder) Label(key, value string) *ClusterBuilder {
	if b.object.Labels == nil {
		b.object.Labels = map[string]string{}
	}
	b.object.Labels[key] = value
	return b
}

// In makes the cluster a member of an exclusive set.
func (b *ClusterBuilder) In(set string) *ClusterBuilder {
	return b.Label(clusterv1beta2.ClusterSetLabel, set)
}

// Claim adds a claim.
func (b *ClusterBuilder) Claim(name, value string) *ClusterBuilder {
	b.object.Status.ClusterClaims = append(b.object.Status.ClusterClaims, clusterv1.ManagedClusterClaim{Name: name, Value: value})
	return b
}

// Taint adds a taint without a value. A zero added leaves timeAdded empty.
func (b *ClusterBuilder) Taint(key string, effect clusterv1.TaintEffect, added time.Time) *ClusterBuilder {
	return b.TaintValue(key, "", effect, added)
}

// TaintValue adds a taint.
func (b *ClusterBuilder) TaintValue(key, value string, effect clusterv1.TaintEffect, added time.Time) *ClusterBuilder {
	taint := clusterv1.Taint{Key: key, Value: value, Effect: effect}
	if !added.IsZero() {
		taint.TimeAdded = metav1.NewTime(added)
	}
	b.object.Spec.Taints = append(b.object.Spec.Taints, taint)
	return b
}

// CPU sets allocatable and capacity of cpu.
func (b *ClusterBuilder) CPU(amount string) *ClusterBuilder {
	return b.Allocatable(clusterv1.ResourceCPU, amount).Capacity(clusterv1.ResourceCPU, amount)
}

// Memory sets allocatable and capacity of memory.
func (b *ClusterBuilder) Memory(amount string) *ClusterBuilder {
	return b.Allocatable(clusterv1.ResourceMemory, amount).Capacity(clusterv1.ResourceMemory, amount)
}

// Allocatable sets status.allocatable of one resource.
func (b *ClusterBuilder) Allocatable(name clusterv1.ResourceName, amount string) *ClusterBuilder {
	if b.object.Status.Allocatable == nil {
		b.object.Status.Allocatable = clusterv1.ResourceList{}
	}
	b.object.Status.Allocatable[name] = resource.MustParse(amount)
	return b
}

// Capacity sets status.capacity of one resource.
func (b *ClusterBuilder) Capacity(name clusterv1.ResourceName, amount string) *ClusterBuilder {
	if b.object.Status.Capacity == nil {
		b.object.Status.Capacity = clusterv1.ResourceList{}
	}
	b.object.Status.Capacity[name] = resource.MustParse(amount)
	return b
}

// Terminating marks the cluster as being deleted.
func (b *ClusterBuilder) Terminating() *ClusterBuilder {
	b.object.DeletionTimestamp = &metav1.Time{Time: Epoch}
	return b
}

// Obj returns the cluster.
func (b *ClusterBuilder) Obj() *clusterv1.ManagedCluster { return b.object.DeepCopy() }

// SetBuilder builds a ManagedClusterSet.
type SetBuilder struct {
	object clusterv1beta2.ManagedClusterSet
}

// Set starts an exclusive set, whose members carry its name as their clusterset label.
func Set(name string) *SetBuilder {
	return &SetBuilder{clusterv1beta2.ManagedClusterSet{ObjectMeta: metav1.ObjectMeta{Name: name}}}
}

// Type sets the selector type alone.
func (b *SetBuilder) Type(of clusterv1beta2.SelectorType) *SetBuilder {
	b.object.Spec.ClusterSelector.SelectorType = of
	return b
}

// Matching makes it a set of the clusters whose labels match.
func (b *SetBuilder) Matching(selector metav1.LabelSelector) *SetBuilder {
	b.object.Spec.ClusterSelector.LabelSelector = &selector
	return b.Type(clusterv1beta2.LabelSelector)
}

// Exclusive makes it a set of the clusters with one label.
func (b *SetBuilder) Exclusive(key, value string) *SetBuilder {
	b.object.Spec.ClusterSelector.ExclusiveLabel = &clusterv1beta2.ExclusiveLabelSelector{Key: key, Value: value}
	return b.Type(clusterv1beta2.ExclusiveLabel)
}

// Obj returns the set.
func (b *SetBuilder) Obj() *clusterv1beta2.ManagedClusterSet { return b.object.DeepCopy() }

// ScoreBuilder builds an AddOnPlacementScore.
type ScoreBuilder struct {
	object clusterv1alpha1.AddOnPlacementScore
}

// Score starts an AddOnPlacementScore of a cluster.
func Score(cluster, resource string) *ScoreBuilder {
	return &ScoreBuilder{clusterv1alpha1.AddOnPlacementScore{ObjectMeta: metav1.ObjectMeta{Namespace: cluster, Name: resource}}}
}

// Value adds a score.
func (b *ScoreBuilder) Value(name string, value int32) *ScoreBuilder {
	b.object.Status.Scores = append(b.object.Status.Scores, clusterv1alpha1.AddOnPlacementScoreItem{Name: name, Value: value})
	return b
}

// ValidUntil sets when the scores stop counting.
func (b *ScoreBuilder) ValidUntil(at time.Time) *ScoreBuilder {
	b.object.Status.ValidUntil = &metav1.Time{Time: at}
	return b
}

// Obj returns the score object.
func (b *ScoreBuilder) Obj() *clusterv1alpha1.AddOnPlacementScore { return b.object.DeepCopy() }
