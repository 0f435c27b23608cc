package celenv

import "github.com/berth-project/berth/engine/fleet"

// Facet is a part of a ManagedCluster that expressions read and that changes on its own.
type Facet = fleet.Facet

// The facets, as in package fleet.
const (
	FacetLabels      = fleet.FacetLabels
	FacetAnnotations = fleet.FacetAnnotations
	FacetMeta        = fleet.FacetMeta
	FacetSpec        = fleet.FacetSpec
	FacetClaims      = fleet.FacetClaims
	FacetResources   = fleet.FacetResources
	FacetConditions  = fleet.FacetConditions
	FacetStatus      = fleet.FacetStatus

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
