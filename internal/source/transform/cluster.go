package transform

import (
	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	multiclusterv1alpha1 "github.com/berth-project/berth/api/multicluster/v1alpha1"
)

// Cluster transforms a ManagedCluster. It keeps all annotations, since expressions may read them.
func (s *Transformer) Cluster(object any) (any, error) {
	c, ok := object.(*clusterv1.ManagedCluster)
	if !ok {
		return object, nil
	}
	c.ManagedFields = nil
	s.interner.lock()
	defer s.interner.unlock()
	c.Labels, c.Annotations = s.interner.internMap(c.Labels), s.interner.internMap(c.Annotations)
	for i := range c.Status.ClusterClaims {
		s.interner.intern(&c.Status.ClusterClaims[i].Name)
		s.interner.intern(&c.Status.ClusterClaims[i].Value)
	}
	c.Status.ClusterClaims = clip(c.Status.ClusterClaims)
	for i := range c.Status.Conditions { // an agent may write a time into each message, so messages are not interned
		s.interner.intern(&c.Status.Conditions[i].Type)
		s.interner.intern(&c.Status.Conditions[i].Reason)
	}
	c.Status.Conditions = clip(c.Status.Conditions)
	c.Spec.ManagedClusterClientConfigs = clip(c.Spec.ManagedClusterClientConfigs)
	for i := range c.Spec.Taints {
		s.interner.intern(&c.Spec.Taints[i].Key)
		s.interner.intern(&c.Spec.Taints[i].Value)
	}
	s.interner.intern(&c.Status.Version.Kubernetes)
	return c, nil
}

// Profile transforms a ClusterProfile. The profiles of one cluster in several namespaces share all of their strings.
func (s *Transformer) Profile(object any) (any, error) {
	stripMetadata(object)
	p, ok := object.(*multiclusterv1alpha1.ClusterProfile)
	if !ok {
		return object, nil
	}
	s.interner.lock()
	defer s.interner.unlock()
	s.meta(&p.ObjectMeta)
	s.interner.intern(&p.Spec.DisplayName)
	s.interner.intern(&p.Spec.ClusterManager.Name)
	s.interner.intern(&p.Status.Version.Kubernetes)
	for i := range p.Status.Properties {
		s.interner.intern(&p.Status.Properties[i].Name)
		s.interner.intern(&p.Status.Properties[i].Value)
	}
	p.Status.Properties = clip(p.Status.Properties)
	s.conditions(p.Status.Conditions)
	p.Status.Conditions = clip(p.Status.Conditions)
	return p, nil
}
