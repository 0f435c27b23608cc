package celenv

import (
	"maps"

	"k8s.io/apimachinery/pkg/api/equality"

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

	metadataFacets = FacetLabels | FacetAnnotations | FacetMeta
	statusFacets   = FacetClaims | FacetResources | FacetConditions | FacetStatus
	allFacets      = metadataFacets | FacetSpec | statusFacets
)

// facetOf returns what an access path below managedCluster reads.
func facetOf(path []string) Facet {
	if len(path) == 0 {
		return allFacets
	}
	child := ""
	if len(path) > 1 {
		child = path[1]
	}
	switch path[0] {
	case "metadata":
		return facetBelow(child, metadataFacets, FacetMeta, map[string]Facet{"labels": FacetLabels, "annotations": FacetAnnotations})
	case "spec":
		return FacetSpec
	case "status":
		return facetBelow(child, statusFacets, FacetStatus, map[string]Facet{
			"clusterClaims": FacetClaims, "capacity": FacetResources, "allocatable": FacetResources, "conditions": FacetConditions,
		})
	default:
		return 0
	}
}

func facetBelow(child string, whole, rest Facet, named map[string]Facet) Facet {
	if child == "" {
		return whole
	}
	if facet, ok := named[child]; ok {
		return facet
	}
	return rest
}

// Changed returns the facets in which two states of a cluster differ.
func Changed(a, b *clusterv1.ManagedCluster) Facet {
	var out Facet
	differ := func(facet Facet, same bool) {
		if !same {
			out |= facet
		}
	}
	differ(FacetLabels, maps.Equal(a.Labels, b.Labels))
	differ(FacetAnnotations, maps.Equal(a.Annotations, b.Annotations))
	differ(FacetMeta, equality.Semantic.DeepEqual(plainMeta(a), plainMeta(b)))
	differ(FacetSpec, equality.Semantic.DeepEqual(a.Spec, b.Spec))
	differ(FacetClaims, equality.Semantic.DeepEqual(a.Status.ClusterClaims, b.Status.ClusterClaims))
	differ(FacetResources, equality.Semantic.DeepEqual(a.Status.Capacity, b.Status.Capacity) &&
		equality.Semantic.DeepEqual(a.Status.Allocatable, b.Status.Allocatable))
	differ(FacetConditions, equality.Semantic.DeepEqual(a.Status.Conditions, b.Status.Conditions))
	differ(FacetStatus, equality.Semantic.DeepEqual(a.Status.Version, b.Status.Version) &&
		equality.Semantic.DeepEqual(a.Status.ManagedNamespaces, b.Status.ManagedNamespaces))
	return out
}
