// Package v1 is the Go form of the views: ManagedClusterSets and ManagedClusters as their reader may see them, under
// the group view.cluster.open-cluster-management.io.
//
// It owns the name and version of the group, and no types: the views serve the types of the stored objects. A scheme holds
// either this group or the stored group, never both, since a client could not distinguish them by type.
package v1
