package source

import (
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
)

// OwnerOf returns the placement that a slice belongs to: the placement in its name if it exists, else the placement in its
// label, else the placement in its name though it does not exist. The name takes precedence since it cannot be edited.
//
// A slice without either gets a unique key that no placement can have: its clusters count for Balance, and no plan changes
// it.
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
