// Package plan decides on which clusters an add-on with placements is installed, which configuration each of them has to reach, which of
// them change now, and what the status of the ClusterManagementAddOn is.
//
// Plan takes the add-on, the decisions of its placements, its ManagedClusterAddOns, the hashes of its configurations and an instant, and
// returns writes, the status and the instant at which to plan again. It reads no clock, keeps no state and sends nothing. The clusters are
// those of package decision.
//
// # The rollouts
//
// Each placement of the strategy has a rollout of its own, with its configurations as the change: package evidence runs it, and
// status.installProgressions[].rollout keeps its record. This is what evidence.Input gets of an add-on:
//
//   - Record: the record in the progress of the placement. An add-on without a record, after an upgrade, is taken as its
//     ManagedClusterAddOns show it, and as finished where the progress has the configurations as applied.
//   - Revision: a hash of the configurations of the placement, those of single clusters aside. While one is missing or unread, nothing
//     starts, and the record stays.
//   - Placements: the one placement. Its groups hold the clusters for which it is the last to select them. Others of its decision, and
//     those that get no add-on, are Elsewhere.
//   - Clusters: what configReferences and the conditions show. A cluster whose placement is not known is Held. A cluster that loses the
//     add-on with this plan Leaves.
//   - Members: of the caller. Hold: a decision that is torn or lacks groups, and configurations that are not known.
//   - Forgiven, Passes: none. What people decide is in the strategy: maxFailures, mandatoryDecisionGroups, approval.
//
// # The contract
//
//   - A ManagedClusterAddOn of the strategy is where a placement selects the cluster. The last placement of the spec that selects the
//     cluster rules its configurations and its pace.
//   - A ManagedClusterAddOn goes only by a decision: every placement of the spec has a complete decision, none of them selects the cluster,
//     and the budget of removals allows it. A placement that is missing, undecided, misconfigured or being changed removes nothing, and
//     neither does a strategy without placements.
//   - A ManagedClusterAddOn without an owner reference to the add-on is configured, and never removed.
//   - A configuration is reached in steps: desiredConfig changes only on the clusters that the step of their placement starts, once the
//     stored record has them. A configuration that does not exist changes nothing.
//   - A cluster that waits keeps its configurations. A new cluster that waits gets the last known good ones, where they differ from the
//     present ones and still have that content.
//   - A plan writes each ManagedClusterAddOn at most once. Every write of an existing one is fenced by its uid and resourceVersion, and
//     every prefix of the writes is harmless.
//   - A plan over its own result has no writes until something changes.
//
// # Duties of the caller
//
//  1. Pass the add-on and the ManagedClusterAddOns as last stored: the cache, overlaid with the writes of this process. Store the status
//     only over the add-on that was passed.
//  2. Pass the hash, or the fault, of each object of Objects.
//  3. Pass refused writes back as Faults, and the instants of removals as Removals for RemovalWindow.
//  4. After Result.Begins, plan again once the status is stored. After Result.Departs, send the writes only together with the status.
//  5. Plan again when the add-on, a placement, a slice, a cluster, a configuration or a ManagedClusterAddOn changes, and at Result.Until.
package plan
