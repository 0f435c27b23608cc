package fleet

import (
	"iter"
	"maps"
	"slices"

	"github.com/bits-and-blooms/bitset"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
)

// Facet is a part of a ManagedCluster that expressions read and that changes on its own. Facets are bits.
type Facet uint16

// The parts of a ManagedCluster. Together they are the whole object except metadata.managedFields and
// metadata.resourceVersion. No expression can read these two, because they change with every heartbeat.
const (
	FacetLabels Facet = 1 << iota
	FacetAnnotations
	FacetMeta
	FacetSpec
	FacetClaims
	FacetResources
	FacetConditions
	FacetStatus

	// TermFacets are the facets from which the terms of a cluster are made.
	TermFacets = FacetLabels | FacetClaims | FacetSpec | FacetMeta

	facetCount = 8
	allFacets  = 1<<facetCount - 1
)

// All yields the facets one by one.
func (f Facet) All() iter.Seq[Facet] {
	return func(yield func(Facet) bool) {
		for n := range facetCount {
			if facet := Facet(1 << n); f&facet != 0 && !yield(facet) {
				return
			}
		}
	}
}

// ChangedFacets returns the facets in which two states of a cluster differ. It runs on every heartbeat, so it uses no
// reflection.
func ChangedFacets(a, b *clusterv1.ManagedCluster) Facet {
	var out Facet
	differ := func(facet Facet, same bool) {
		if !same {
			out |= facet
		}
	}
	differ(FacetLabels, maps.Equal(a.Labels, b.Labels))
	differ(FacetAnnotations, maps.Equal(a.Annotations, b.Annotations))
	differ(FacetMeta, sameMeta(&a.ObjectMeta, &b.ObjectMeta))
	differ(FacetSpec, sameSpec(&a.Spec, &b.Spec))
	differ(FacetClaims, sameSlice(a.Status.ClusterClaims, b.Status.ClusterClaims))
	differ(FacetResources, maps.EqualFunc(a.Status.Capacity, b.Status.Capacity, sameText) &&
		maps.EqualFunc(a.Status.Allocatable, b.Status.Allocatable, sameText))
	differ(FacetConditions, slices.EqualFunc(a.Status.Conditions, b.Status.Conditions, sameCondition))
	differ(FacetStatus, a.Status.Version == b.Status.Version && sameNamespaces(a.Status.ManagedNamespaces, b.Status.ManagedNamespaces))
	return out
}

// sameMeta compares all the metadata that StableMetadata has.
func sameMeta(a, b *metav1.ObjectMeta) bool {
	return a.Name == b.Name && a.GenerateName == b.GenerateName && a.Namespace == b.Namespace &&
		a.SelfLink == b.SelfLink && //nolint:staticcheck // expressions read whatever is stored
		a.UID == b.UID && a.Generation == b.Generation &&
		a.CreationTimestamp.Equal(&b.CreationTimestamp) && a.DeletionTimestamp.Equal(b.DeletionTimestamp) &&
		samePointer(a.DeletionGracePeriodSeconds, b.DeletionGracePeriodSeconds) &&
		slices.Equal(a.Finalizers, b.Finalizers) && slices.EqualFunc(a.OwnerReferences, b.OwnerReferences, sameOwner)
}

func sameOwner(a, b metav1.OwnerReference) bool {
	return a.APIVersion == b.APIVersion && a.Kind == b.Kind && a.Name == b.Name && a.UID == b.UID &&
		samePointer(a.Controller, b.Controller) && samePointer(a.BlockOwnerDeletion, b.BlockOwnerDeletion)
}

func sameSpec(a, b *clusterv1.ManagedClusterSpec) bool {
	return a.HubAcceptsClient == b.HubAcceptsClient && a.LeaseDurationSeconds == b.LeaseDurationSeconds &&
		slices.EqualFunc(a.Taints, b.Taints, func(x, y clusterv1.Taint) bool {
			return x.Key == y.Key && x.Value == y.Value && x.Effect == y.Effect && x.TimeAdded.Equal(&y.TimeAdded)
		}) &&
		slices.EqualFunc(a.ManagedClusterClientConfigs, b.ManagedClusterClientConfigs, func(x, y clusterv1.ClientConfig) bool {
			return x.URL == y.URL && slices.Equal(x.CABundle, y.CABundle)
		})
}

func sameCondition(a, b metav1.Condition) bool {
	return a.Type == b.Type && a.Status == b.Status && a.ObservedGeneration == b.ObservedGeneration &&
		a.LastTransitionTime.Equal(&b.LastTransitionTime) && a.Reason == b.Reason && a.Message == b.Message
}

// sameNamespaces uses reflection: hardly any cluster has managed namespaces.
func sameNamespaces(a, b []clusterv1.ClusterSetManagedNamespaceConfig) bool {
	return len(a)+len(b) == 0 || equality.Semantic.DeepEqual(a, b)
}

func samePointer[T comparable](a, b *T) bool {
	return a == b || a != nil && b != nil && *a == *b
}

// sameSlice reports whether two slices are equal. Slices with the same backing array are not compared.
func sameSlice[T comparable](a, b []T) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0] || slices.Equal(a, b))
}

// sameText reports whether two quantities are written alike. Expressions read text, and to them 1Gi is not 1073741824.
func sameText(a, b resource.Quantity) bool { return a == b || a.String() == b.String() }

// StableMetadata is the metadata of a cluster without labels and annotations, and without the fields that change at every
// write.
func StableMetadata(c *clusterv1.ManagedCluster) metav1.ObjectMeta {
	meta := c.ObjectMeta
	meta.Labels, meta.Annotations, meta.ManagedFields, meta.ResourceVersion = nil, nil, nil, ""
	return meta
}

// FacetVersions has the version of one facet of every cluster.
type FacetVersions struct{ column column[*Edit] }

// FacetVersions returns the versions of some facets, in their order.
func (s *Snapshot) FacetVersions(of Facet) []FacetVersions {
	var out []FacetVersions
	for n := range facetCount {
		if of&(1<<n) != 0 {
			out = append(out, FacetVersions{s.facetVersions[n]})
		}
	}
	return out
}

// At returns the version of a cluster's facet: the edit that made it. Equal versions of one ID mean equal facets, even in
// different snapshots.
func (f *FacetVersions) At(id ID) *Edit { return f.column.at(id) }

// Equal reports whether the versions of all clusters are the same. It compares pages only, so it may return false for
// equal versions.
func (f FacetVersions) Equal(other FacetVersions) bool {
	return slices.Equal(f.column.pages, other.column.pages)
}

// RetainUnchanged removes from a set the clusters whose versions differ from before. It reads only pages that have
// changed.
func (f FacetVersions) RetainUnchanged(before FacetVersions, in *bitset.BitSet) {
	for n, page := range f.column.pages {
		if n < len(before.column.pages) && page == before.column.pages[n] {
			continue
		}
		for i, state := range page.cells {
			if id := ID(n*pageSize + i); state != before.column.at(id) {
				in.Clear(id)
			}
		}
	}
	for id, more := in.NextSet(ID(len(f.column.pages) * pageSize)); more; id, more = in.NextSet(id) {
		in.Clear(id)
	}
}

// markChanged records that an edit changed facets of a cluster, and returns the facets.
func (e *Edit) markChanged(id ID, before, after *Cluster) (changed Facet) {
	changed = allFacets
	if before != nil {
		changed = ChangedFacets(before.Object, after.Object)
	}
	for n := range facetCount {
		if changed&(1<<n) != 0 {
			e.next.facetVersions[n].set(e, id, e)
		}
	}
	return changed
}
