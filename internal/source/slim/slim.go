package slim

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
)

// Slimmer slims the objects of one process. Its methods are transforms of caches, and may be called from any goroutine.
type Slimmer struct {
	words    words
	clusters clusters
}

// New returns a Slimmer that has seen nothing.
func New() *Slimmer { return &Slimmer{} }

// Object drops what nobody reads of an object that is no cluster.
func (*Slimmer) Object(object any) (any, error) {
	strip(object)
	return object, nil
}

// strip drops managed fields, and what kubectl noted of what was last applied.
func strip(object any) {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return // a tombstone, which holds an object that has passed already
	}
	accessor.SetManagedFields(nil)
	if annotations := accessor.GetAnnotations(); len(annotations) > 0 {
		if delete(annotations, corev1.LastAppliedConfigAnnotation); len(annotations) == 0 {
			accessor.SetAnnotations(nil)
		}
	}
}

// Placement slims a Placement: fleets ask for the same labels and report the same conditions over and over.
func (s *Slimmer) Placement(object any) (any, error) {
	strip(object)
	p, ok := object.(*clusterv1beta1.Placement)
	if !ok {
		return object, nil
	}
	s.words.lock()
	defer s.words.unlock()
	s.meta(&p.ObjectMeta)
	for i := range p.Spec.Predicates {
		s.selector(&p.Spec.Predicates[i].RequiredClusterSelector)
	}
	s.conditions(p.Status.Conditions)
	for i := range p.Status.DecisionGroups {
		group := &p.Status.DecisionGroups[i]
		s.words.keep(&group.DecisionGroupName)
		s.words.keepAll(group.Decisions)
		group.Decisions = exact(group.Decisions)
	}
	p.Status.DecisionGroups = exact(p.Status.DecisionGroups)
	return p, nil
}

// Slice slims a PlacementDecision: most of it is the names of clusters.
func (s *Slimmer) Slice(object any) (any, error) {
	strip(object)
	d, ok := object.(*clusterv1beta1.PlacementDecision)
	if !ok {
		return object, nil
	}
	s.words.lock()
	defer s.words.unlock()
	s.meta(&d.ObjectMeta)
	for i := range d.Status.Decisions {
		s.words.keep(&d.Status.Decisions[i].ClusterName)
		s.words.keep(&d.Status.Decisions[i].Reason)
	}
	d.Status.Decisions = exact(d.Status.Decisions)
	return d, nil
}

func (s *Slimmer) meta(m *metav1.ObjectMeta) {
	s.words.keep(&m.Namespace)
	m.Labels, m.Annotations = s.words.keepMap(m.Labels), s.words.keepMap(m.Annotations)
	for i := range m.OwnerReferences {
		owner := &m.OwnerReferences[i]
		s.words.keep(&owner.APIVersion)
		s.words.keep(&owner.Kind)
		s.words.keep(&owner.Name)
	}
	m.OwnerReferences = exact(m.OwnerReferences)
	m.Finalizers = exact(m.Finalizers)
}

func (s *Slimmer) selector(asked *clusterv1beta1.ClusterSelector) {
	asked.LabelSelector.MatchLabels = s.words.keepMap(asked.LabelSelector.MatchLabels)
	for _, list := range [][]metav1.LabelSelectorRequirement{asked.LabelSelector.MatchExpressions, asked.ClaimSelector.MatchExpressions} {
		for i := range list {
			s.words.keep(&list[i].Key)
			s.words.keepAll(list[i].Values)
			list[i].Values = exact(list[i].Values)
		}
	}
}

func (s *Slimmer) conditions(list []metav1.Condition) {
	for i := range list {
		s.words.keep(&list[i].Type)
		s.words.keep(&list[i].Reason)
		s.words.keep(&list[i].Message)
	}
}

// exact returns a slice that has no room beyond its end: decoding grows what it fills by doubling it.
func exact[T any](in []T) []T {
	if cap(in) == len(in) {
		return in
	}
	return append(make([]T, 0, len(in)), in...)
}
