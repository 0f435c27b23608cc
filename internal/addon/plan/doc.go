// Package plan decides on which clusters an add-on with placements is installed, which configuration each of them has to reach, which of
// them change now, and what the status of the ClusterManagementAddOn is.
//
// Plan takes the add-on, the decisions of its placements, its ManagedClusterAddOns, the hashes of its configurations and an instant, and
// returns writes, the status and the instant at which to plan again. It reads no clock, keeps no state and sends nothing. The pace is that
// of package rollout; the clusters are those of package decision.
//
// # The contract
//
//   - A ManagedClusterAddOn of the strategy is where a placement selects the cluster. The last placement of the spec that selects the
//     cluster rules its configurations and its pace.
//   - A ManagedClusterAddOn goes only by a decision: every placement of the spec has a complete decision, none of them selects the cluster,
//     and the budget of removals allows it. A placement that is missing, undecided, misconfigured or being changed removes nothing, and
//     neither does a strategy without placements.
//   - A ManagedClusterAddOn without an owner reference to the add-on is configured, and never removed.
//   - A configuration is reached in steps: desiredConfig changes only on the clusters that the step of their placement starts. A
//     configuration that does not exist changes nothing.
//   - A plan writes each ManagedClusterAddOn at most once. Every write of an existing one is fenced by its uid and resourceVersion, and
//     every prefix of the writes is harmless.
//   - A plan over its own result has no writes until something changes.
//
// # Duties of the caller
//
//  1. Pass the ManagedClusterAddOns as last stored: the cache, overlaid with the writes of this process.
//  2. Pass the hash, or the fault, of each object of Objects.
//  3. Pass refused writes back as Faults, and the instants of removals as Removals for RemovalWindow.
//  4. Plan again when the add-on, a placement, a slice, a cluster, a configuration or a ManagedClusterAddOn changes, and at Result.Until.
package plan
