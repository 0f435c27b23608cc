// Package placementapi serves the explanation and the history of placements over HTTP, the delivery of sets of works, what is gone and
// still counts, and the responses of OCM's debug server.
//
// It decides nothing and authenticates no user: the server in front of it does. A caller gets responses only for placements
// and sets that it may get. One invariant: no response names a cluster that the views would not show to the caller.
package placementapi
