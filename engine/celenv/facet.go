package celenv

import "github.com/berth-project/berth/engine/fleet"

const (
	metadataFacets = fleet.FacetLabels | fleet.FacetAnnotations | fleet.FacetMeta
	statusFacets   = fleet.FacetClaims | fleet.FacetResources | fleet.FacetConditions | fleet.FacetStatus
	allFacets      = metadataFacets | fleet.FacetSpec | statusFacets
)

// facetOf returns the facets that an access path below managedCluster reads.
func facetOf(path []string) fleet.Facet {
	if len(path) == 0 {
		return allFacets
	}
	child := ""
	if len(path) > 1 {
		child = path[1]
	}
	switch path[0] {
	case "metadata":
		return facetBelow(child, metadataFacets, fleet.FacetMeta, map[string]fleet.Facet{
			"labels":      fleet.FacetLabels,
			"annotations": fleet.FacetAnnotations,
		})
	case "spec":
		return fleet.FacetSpec
	case "status":
		return facetBelow(child, statusFacets, fleet.FacetStatus, map[string]fleet.Facet{
			"clusterClaims": fleet.FacetClaims, "capacity": fleet.FacetResources, "allocatable": fleet.FacetResources,
			"conditions": fleet.FacetConditions,
		})
	default:
		return 0
	}
}

func facetBelow(child string, whole, rest fleet.Facet, named map[string]fleet.Facet) fleet.Facet {
	if child == "" {
		return whole
	}
	if facet, ok := named[child]; ok {
		return facet
	}
	return rest
}
