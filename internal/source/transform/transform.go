package transform

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
)

// Transformer transforms the objects of one process. Its methods are transforms of caches, and may be called from any
// goroutine.
type Transformer struct {
	interner interner
}

// New returns a Transformer without any strings.
func New() *Transformer { return &Transformer{} }

// Object transforms an object of a kind without a transform of its own.
func (*Transformer) Object(object any) (any, error) {
	stripMetadata(object)
	return object, nil
}

// stripMetadata drops the managed fields and the last applied configuration.
func stripMetadata(object any) {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return // a tombstone, which holds a transformed object
	}
	accessor.SetManagedFields(nil)
	if annotations := accessor.GetAnnotations(); len(annotations) > 0 {
		if delete(annotations, corev1.LastAppliedConfigAnnotation); len(annotations) == 0 {
			accessor.SetAnnotations(nil)
		}
	}
}

// Placement transforms a Placement. Many placements share labels and conditions.
func (t *Transformer) Placement(object any) (any, error) {
	stripMetadata(object)
	p, ok := object.(*clusterv1beta1.Placement)
	if !ok {
		return object, nil
	}
	t.interner.lock()
	defer t.interner.unlock()
	t.meta(&p.ObjectMeta)
	for i := range p.Spec.Predicates {
		t.selector(&p.Spec.Predicates[i].RequiredClusterSelector)
	}
	t.conditions(p.Status.Conditions)
	for i := range p.Status.DecisionGroups {
		group := &p.Status.DecisionGroups[i]
		t.interner.intern(&group.DecisionGroupName)
		t.interner.internAll(group.Decisions)
		group.Decisions = clip(group.Decisions)
	}
	p.Status.DecisionGroups = clip(p.Status.DecisionGroups)
	return p, nil
}

// Slice transforms a PlacementDecision. It consists mostly of cluster names.
func (t *Transformer) Slice(object any) (any, error) {
	stripMetadata(object)
	d, ok := object.(*clusterv1beta1.PlacementDecision)
	if !ok {
		return object, nil
	}
	t.interner.lock()
	defer t.interner.unlock()
	t.meta(&d.ObjectMeta)
	for i := range d.Status.Decisions {
		t.interner.intern(&d.Status.Decisions[i].ClusterName)
		t.interner.intern(&d.Status.Decisions[i].Reason)
	}
	d.Status.Decisions = clip(d.Status.Decisions)
	return d, nil
}

func (t *Transformer) meta(m *metav1.ObjectMeta) {
	t.interner.intern(&m.Namespace)
	m.Labels, m.Annotations = t.interner.internMap(m.Labels), t.interner.internMap(m.Annotations)
	for i := range m.OwnerReferences {
		owner := &m.OwnerReferences[i]
		t.interner.intern(&owner.APIVersion)
		t.interner.intern(&owner.Kind)
		t.interner.intern(&owner.Name)
	}
	m.OwnerReferences = clip(m.OwnerReferences)
	m.Finalizers = clip(m.Finalizers)
}

func (t *Transformer) selector(required *clusterv1beta1.ClusterSelector) {
	required.LabelSelector.MatchLabels = t.interner.internMap(required.LabelSelector.MatchLabels)
	for _, list := range [][]metav1.LabelSelectorRequirement{
		required.LabelSelector.MatchExpressions,
		required.ClaimSelector.MatchExpressions,
	} {
		for i := range list {
			t.interner.intern(&list[i].Key)
			t.interner.internAll(list[i].Values)
			list[i].Values = clip(list[i].Values)
		}
	}
}

func (t *Transformer) conditions(list []metav1.Condition) {
	for i := range list {
		t.interner.intern(&list[i].Type)
		t.interner.intern(&list[i].Reason)
		t.interner.intern(&list[i].Message)
	}
}

// clip returns a slice without spare capacity: decoding doubles the capacity of the slices that it fills.
func clip[T any](in []T) []T {
	if cap(in) == len(in) {
		return in
	}
	return append(make([]T, 0, len(in)), in...)
}
