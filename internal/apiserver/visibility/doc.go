// Package visibility owns which objects a subject may see: a set that the subject may get or bind, and a cluster that the subject
// may get or that is in a visible set.
//
// It sends no requests: a Snapshot holds the objects and the roles of one instant. It never changes. Edit makes a new one
// that shares the unchanged parts, and Changes compares two.
package visibility
