package source

import (
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
)

// OwnerOf returns the placement that a slice belongs to. It is the placement in its name if that exists, else the
// placement in its label, else the missing placement in its name. The name takes precedence, because it cannot be edited.
//
// A slice without either gets a unique key that no placement can have. Its clusters count for Balance, and no plan
// changes it.
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
