// Package describe has the command describe: all that is known of placements, clusters, sets and bindings.
//
// In go the objects of a hub or of files, their events and their history; out come facts as text, in the form of kubectl describe. It never
// writes to the hub.
package describe
