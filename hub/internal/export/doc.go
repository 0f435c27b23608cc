// Package export moves all objects of Berth from an embedded hub to any Kubernetes, and the agents after them.
//
// It owns what is moved, in which order, and what holds still meanwhile. The managers of both hubs hold still by their own lease, so that
// webhooks answer and no controller acts on half of the objects. The invariant: no object is written to the target that another client
// made, and an interrupted export continues where it was.
package export
