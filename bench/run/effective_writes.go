package run

import (
	"k8s.io/apimachinery/pkg/api/equality"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
)

// effectiveWrites counts the writes that changed the content of a slice or of a placement's status, or created or deleted a
// slice. The first write to each object counts, because the log lacks the content before it.
func effectiveWrites(entries map[objectKey][]objectVersion) (count int) {
	for _, versions := range entries {
		var before any
		for _, next := range versions {
			if after := next.content(); !equality.Semantic.DeepEqual(before, after) {
				before = after
				count++
			}
		}
	}
	return count
}

// content returns the part of an object that readers of decisions read, or nil.
func (v objectVersion) content() any {
	switch object := v.object.(type) {
	case *clusterv1beta1.Placement:
		return object.Status
	case *clusterv1beta1.PlacementDecision:
		if v.deleted {
			return "gone"
		}
		return []any{object.Labels, object.Annotations, object.Status}
	default:
		return nil
	}
}
