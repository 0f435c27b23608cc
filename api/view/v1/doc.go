// Package v1 is the Go form of the views: ManagedClusterSets and ManagedClusters as their reader may see them, under
// the group view.cluster.open-cluster-management.io.
//
// It owns the group's name and version, and no types: what is seen has the very types of what is stored. So a scheme
// holds this group or the stored one, never both, since a client could not tell which of them an object is for.
package v1
