// Package answer owns what is asked of placements over HTTP: why a cluster is selected or not, how the decisions changed,
// and the same in the form of OCM's debug server.
//
// It refuses to decide anything and to know who the caller is: the server in front of it says so, and a placement is
// answered for those only who may get it. One invariant: no answer names a cluster that the views would not show.
package placementapi
