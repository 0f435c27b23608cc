package decision

import (
	"fmt"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
)

// Obstacles returns why a reading is not the complete decision on the present spec of the placement, each reason as a sentence. It
// returns none if the decision is complete: the hub has decided the spec, the slices are consistent, and the status agrees with them.
//
// A placement whose decisions another scheduler writes (PlacementDisableAnnotation) has a status that Berth does not keep. Only its
// slices are checked.
func (d Decisions) Obstacles(placement *clusterv1beta1.Placement) []string {
	var out []string
	if len(d.groups) == 0 {
		return append(out, "it has no decision yet")
	}
	for _, found := range d.inconsistencies {
		out = append(out, found.String())
	}
	if placement.Annotations[clusterv1beta1.PlacementDisableAnnotation] == "true" {
		return out
	}
	if len(placement.Status.Conditions) == 0 {
		return append(out, "its status is not written yet")
	}
	if observed := observedGeneration(placement); observed != 0 && observed < placement.Generation {
		out = append(out, fmt.Sprintf("its generation %d is not decided yet, the status is of generation %d", placement.Generation, observed))
	}
	return append(out, d.Disagreements(placement)...)
}

// observedGeneration returns the latest generation of the spec that a condition is about; 0 if the writer of the status records none.
func observedGeneration(placement *clusterv1beta1.Placement) int64 {
	var out int64
	for _, condition := range placement.Status.Conditions {
		out = max(out, condition.ObservedGeneration)
	}
	return out
}
