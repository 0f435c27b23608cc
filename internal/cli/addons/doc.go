// Package addons has the command addon status: it reads an add-on from a hub and reports how far it is on each cluster, by the planner of
// the manager.
//
// It reads with the permissions of the caller and writes nothing. It has no view of the memory of the manager: which writes the API server
// refused, and which removals count towards the budget of a minute. The invariant: a report is complete, or there is an error that names
// the missing permission.
package addons
