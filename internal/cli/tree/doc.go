// Package tree has the command tree: the placements that selected a cluster, and what is delivered to the clusters of a placement.
//
// In go the objects of a hub or of files; out comes a tree as text or as data. It never writes to the hub.
package tree
