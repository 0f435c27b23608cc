// Package views owns the aggregated API server of the views: it gets, lists and watches the ManagedClusterSets and
// ManagedClusters that the caller may see, in their own API group.
//
// The hub authenticates the caller and authorizes the request. Package visibility computes from roles, in memory, which
// objects the caller may see. Package viewcache keeps the current snapshot, and package storage serves it as REST. This
// package writes nothing.
package views
