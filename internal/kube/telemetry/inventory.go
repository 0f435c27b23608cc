package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
)

// The states of the ClusterProfiles that the controller inventory imports.
const (
	// InventoryImported profiles have a cluster.
	InventoryImported = "imported"
	// InventoryMissing profiles are gone, and their clusters are still there.
	InventoryMissing = "missing"
	// InventoryBlocked profiles have the name of a cluster that does not come from them, or a name that no cluster may have.
	InventoryBlocked = "blocked"
)

// Reasons and action of the events of a profile that is not imported.
const (
	ReasonNameTaken       = "NameTaken"
	ReasonNameInvalid     = "NameInvalid"
	ActionProfileImported = "Imported"
)

// RegisterInventory registers the metric of imported clusters. It must be called once per registry. Each scrape calls count, which returns
// the number of profiles by state.
func RegisterInventory(registry prometheus.Registerer, count func() map[string]int) {
	set := &Set{}
	newInventory(set, count)
	set.Register(registry)
}

func newInventory(set *Set, count func() map[string]int) {
	states := []string{InventoryBlocked, InventoryImported, InventoryMissing}
	set.Scraped("berth_inventory_profiles", "ClusterProfiles of other cluster managers that are imported as clusters, by state. Those that are missing were deleted, and their clusters wait for it.",
		func(emit Emit) {
			numbers := count()
			for _, state := range states {
				emit(float64(numbers[state]), state)
			}
		}, Label{Name: "state", Values: states})
}

// InventoryBlockedEvent returns the event of a ClusterProfile whose name another cluster has.
func InventoryBlockedEvent(cluster string) Event {
	return NewEvent(corev1.EventTypeWarning, ReasonNameTaken, ActionProfileImported,
		"The profile is not imported: ManagedCluster %s does not come from it and is left as it is. Give one of them another name", cluster)
}

// InventoryRefusedEvent returns the event of a ClusterProfile whose name no cluster may have.
func InventoryRefusedEvent(cluster, fault string) Event {
	return NewEvent(corev1.EventTypeWarning, ReasonNameInvalid, ActionProfileImported,
		"The profile is not imported: %q cannot be the name of a cluster, which is the name of a namespace too: %s", cluster, fault)
}
