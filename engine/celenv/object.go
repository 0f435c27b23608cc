package celenv

import (
	"k8s.io/apimachinery/pkg/runtime"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/engine/fleet"
)

// toUnstructured returns the JSON form of a ManagedCluster, with the given facets only. A field that is absent from the
// object's JSON is absent here, so that has() and a missing key behave as on the wire.
func toUnstructured(c *clusterv1.ManagedCluster, reads fleet.Facet) (map[string]any, error) {
	out := map[string]any{"apiVersion": clusterv1.GroupVersion.String(), "kind": "ManagedCluster"}
	var err error
	if reads&metadataFacets != 0 {
		if out["metadata"], err = metadata(c, reads); err != nil {
			return nil, err
		}
	}
	if reads&fleet.FacetSpec != 0 {
		if out["spec"], err = runtime.DefaultUnstructuredConverter.ToUnstructured(&c.Spec); err != nil {
			return nil, err
		}
	}
	if reads&statusFacets != 0 {
		if out["status"], err = status(c, reads); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func metadata(c *clusterv1.ManagedCluster, reads fleet.Facet) (map[string]any, error) {
	if reads&fleet.FacetMeta != 0 {
		meta := fleet.StableMetadata(c)
		meta.Labels, meta.Annotations = c.Labels, c.Annotations
		return runtime.DefaultUnstructuredConverter.ToUnstructured(&meta)
	}
	out := map[string]any{"name": c.Name}
	if reads&fleet.FacetLabels != 0 && len(c.Labels) > 0 {
		out["labels"] = c.Labels
	}
	if reads&fleet.FacetAnnotations != 0 && len(c.Annotations) > 0 {
		out["annotations"] = c.Annotations
	}
	return out, nil
}

func status(c *clusterv1.ManagedCluster, reads fleet.Facet) (map[string]any, error) {
	part := clusterv1.ManagedClusterStatus{}
	if reads&fleet.FacetConditions != 0 {
		part.Conditions = c.Status.Conditions
	}
	if reads&fleet.FacetResources != 0 {
		part.Capacity, part.Allocatable = c.Status.Capacity, c.Status.Allocatable
	}
	if reads&fleet.FacetClaims != 0 {
		part.ClusterClaims = c.Status.ClusterClaims
	}
	if reads&fleet.FacetStatus != 0 {
		part.Version, part.ManagedNamespaces = c.Status.Version, c.Status.ManagedNamespaces
	}
	return runtime.DefaultUnstructuredConverter.ToUnstructured(&part)
}
