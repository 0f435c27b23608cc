package transform

import (
	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	multiclusterv1alpha1 "github.com/berth-project/berth/api/multicluster/v1alpha1"
)

// Cluster transforms a ManagedCluster. It keeps all annotations, since expressions may read them.
func (t *Transformer) Cluster(object any) (any, error) {
	c, ok := object.(*clusterv1.ManagedCluster)
	if !ok {
		return object, nil
	}
	c.ManagedFields = nil
	t.interner.lock()
	defer t.interner.unlock()
	c.Labels, c.Annotations = t.interner.internMap(c.Labels), t.interner.internMap(c.Annotations)
	for i := range c.Status.ClusterClaims {
		t.interner.intern(&c.Status.ClusterClaims[i].Name)
		t.interner.intern(&c.Status.ClusterClaims[i].Value)
	}
	c.Status.ClusterClaims = clip(c.Status.ClusterClaims)
	for i := range c.Status.Conditions { // an agent may write a time into each message, so messages are not interned
		t.interner.intern(&c.Status.Conditions[i].Type)
		t.interner.intern(&c.Status.Conditions[i].Reason)
	}
	c.Status.Conditions = clip(c.Status.Conditions)
	c.Spec.ManagedClusterClientConfigs = clip(c.Spec.ManagedClusterClientConfigs)
	for i := range c.Spec.Taints {
		t.interner.intern(&c.Spec.Taints[i].Key)
		t.interner.intern(&c.Spec.Taints[i].Value)
	}
	t.interner.intern(&c.Status.Version.Kubernetes)
	return c, nil
}

// Profile transforms a ClusterProfile. The profiles of one cluster in several namespaces share all of their strings.
func (t *Transformer) Profile(object any) (any, error) {
	stripMetadata(object)
	p, ok := object.(*multiclusterv1alpha1.ClusterProfile)
	if !ok {
		return object, nil
	}
	t.interner.lock()
	defer t.interner.unlock()
	t.meta(&p.ObjectMeta)
	t.interner.intern(&p.Spec.DisplayName)
	t.interner.intern(&p.Spec.ClusterManager.Name)
	t.interner.intern(&p.Status.Version.Kubernetes)
	for i := range p.Status.Properties {
		t.interner.intern(&p.Status.Properties[i].Name)
		t.interner.intern(&p.Status.Properties[i].Value)
	}
	p.Status.Properties = clip(p.Status.Properties)
	t.conditions(p.Status.Conditions)
	p.Status.Conditions = clip(p.Status.Conditions)
	return p, nil
}
