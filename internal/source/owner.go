package source

import (
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
)

// OwnerOf returns the placement that a slice belongs to: the one that its name names if there is such a placement,
// else the one that its label names, else the one that its name would name. The label comes second since it can be
// edited and the name cannot.
//
// A slice that says nothing of a placement gets a key of its own, which no placement can have: its clusters count for
// Balance, and nobody's plan touches it.
func OwnerOf(slice *clusterv1beta1.PlacementDecision, exists func(fleet.Key) bool) fleet.Key {
	byName, _, named := plan.Owner(slice)
	label := slice.Labels[clusterv1beta1.PlacementLabel]
	switch {
	case named && exists(byName):
		return byName
	case label != "":
		return fleet.Key{Namespace: slice.Namespace, Name: label}
	case named:
		return byName
	default:
		return fleet.Key{Namespace: slice.Namespace, Name: "/" + slice.Name}
	}
}
