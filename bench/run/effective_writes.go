package run

import (
	"k8s.io/apimachinery/pkg/api/equality"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
)

// effectiveWrites counts the writes of a journal that changed what a slice or the status of a placement says, and those that made or
// deleted a slice. The first of each object counts: the journal does not know what was there before.
func effectiveWrites(entries map[objectKey][]objectVersion) (count int) {
	for _, versions := range entries {
		var before any
		for _, next := range versions {
			if says := next.content(); !equality.Semantic.DeepEqual(before, says) {
				before = says
				count++
			}
		}
	}
	return count
}

// content is what readers of decisions read in an object: nil in one that holds none.
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
