// Package sight owns the question what a subject may see of the fleet: a set that the subject may get, or bind; a
// cluster that the subject may get, or that is in a set it may see.
//
// It refuses to know who is asked over which protocol, and it never asks the API server: a World holds the objects and
// the roles of one instant, and answers from those.
//
// A World never changes. Edit starts from one and makes the next, sharing what it does not touch, so that two instants
// can be compared; Changes does.
package visibility
