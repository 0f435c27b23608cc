package run

import (
	"k8s.io/apimachinery/pkg/api/equality"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
)

// effective counts the writes of a journal that changed what a slice or the status of a placement says, and those that made or
// deleted a slice. The first of each object counts: the journal does not know what was there before.
func effective(entries map[journalKey][]version) (count int) {
	for _, versions := range entries {
		var before any
		for _, next := range versions {
			if says := next.says(); !equality.Semantic.DeepEqual(before, says) {
				before = says
				count++
			}
		}
	}
	return count
}

// says is what readers of decisions read in an object: nil in one that holds none.
func (v version) says() any {
	switch object := v.object.(type) {
	case *clusterv1beta1.Placement:
		return object.Status
	case *clusterv1beta1.PlacementDecision:
		if v.gone {
			return "gone"
		}
		return []any{object.Labels, object.Annotations, object.Status}
	default:
		return nil
	}
}
