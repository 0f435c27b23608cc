// Package simulate has the command simulate: decides placements offline, now and at later instants.
//
// In go files, or a generated fleet; out come decisions as a table or as objects, and what moves at later instants. Package offline
// decides. It never reads a hub and never writes.
package simulate
