// Package apiserver owns the aggregated API server of the views: it lists, gets and watches ManagedClusterSets and
// ManagedClusters as the caller may see them, in a group of its own.
//
// Who the caller is, and whether it may ask at all, is the hub's to say: authentication and authorization are delegated
// to it. What the caller sees follows from roles, in memory, in package sight; package history keeps it over time, and
// package storage puts it into REST. This package refuses to decide any of that, and to write anything anywhere.
package apiserver
