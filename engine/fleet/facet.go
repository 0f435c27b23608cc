package fleet

import (
	"maps"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
)

// Facet is a part of a ManagedCluster that expressions read and that changes on its own. Facets are bits.
type Facet uint16

// The parts of a ManagedCluster. Together they are all of it but metadata.managedFields and metadata.resourceVersion,
// which no expression can read: they move with every heartbeat.
const (
	FacetLabels Facet = 1 << iota
	FacetAnnotations
	FacetMeta
	FacetSpec
	FacetClaims
	FacetResources
	FacetConditions
	FacetStatus

	facetCount = 8
	allFacets  = 1<<facetCount - 1
)

// ChangedFacets returns the facets in which two states of a cluster differ.
func ChangedFacets(a, b *clusterv1.ManagedCluster) Facet {
	var out Facet
	differ := func(facet Facet, same bool) {
		if !same {
			out |= facet
		}
	}
	differ(FacetLabels, maps.Equal(a.Labels, b.Labels))
	differ(FacetAnnotations, maps.Equal(a.Annotations, b.Annotations))
	differ(FacetMeta, equality.Semantic.DeepEqual(PlainMeta(a), PlainMeta(b)))
	differ(FacetSpec, equality.Semantic.DeepEqual(a.Spec, b.Spec))
	differ(FacetClaims, equality.Semantic.DeepEqual(a.Status.ClusterClaims, b.Status.ClusterClaims))
	differ(FacetResources, maps.EqualFunc(a.Status.Capacity, b.Status.Capacity, sameText) &&
		maps.EqualFunc(a.Status.Allocatable, b.Status.Allocatable, sameText))
	differ(FacetConditions, equality.Semantic.DeepEqual(a.Status.Conditions, b.Status.Conditions))
	differ(FacetStatus, equality.Semantic.DeepEqual(a.Status.Version, b.Status.Version) &&
		equality.Semantic.DeepEqual(a.Status.ManagedNamespaces, b.Status.ManagedNamespaces))
	return out
}

// sameText says whether two quantities are written alike: expressions read text, and to them 1Gi is not 1073741824.
func sameText(a, b resource.Quantity) bool { return a.String() == b.String() }

// PlainMeta is the metadata of a cluster without labels and annotations, and without what moves at every write.
func PlainMeta(c *clusterv1.ManagedCluster) metav1.ObjectMeta {
	meta := c.ObjectMeta
	meta.Labels, meta.Annotations, meta.ManagedFields, meta.ResourceVersion = nil, nil, nil, ""
	return meta
}

// States tells states of one facet of the clusters from each other.
type States struct{ of column[*Edit] }

// States returns the states of each of some facets, in their order.
func (s *Snapshot) States(of Facet) []States {
	var out []States
	for n := range facetCount {
		if of&(1<<n) != 0 {
			out = append(out, States{s.states[n]})
		}
	}
	return out
}

// Of returns what names the state of a cluster's facet: the edit that made it. Two that are the same, of one ID, are of
// equal facets, whichever snapshots they are from.
func (s *States) Of(id ID) *Edit { return s.of.at(id) }

// mark notes that an edit changed facets of a cluster.
func (e *Edit) mark(id ID, before, after *Cluster) {
	changed := Facet(allFacets)
	if before != nil {
		changed = ChangedFacets(before.Object, after.Object)
	}
	for n := range facetCount {
		if changed&(1<<n) != 0 {
			e.next.states[n].set(e, id, e)
		}
	}
}
