// Package visibility owns which objects a subject may see. A set is visible to a subject that may get or bind it. A cluster is visible
// to a subject that may get it, or if it is in a visible set.
//
// It sends no requests: a Snapshot holds the objects and the roles of one instant. It never changes. Edit makes a new one
// that shares the unchanged parts, and Changes compares two.
package visibility
