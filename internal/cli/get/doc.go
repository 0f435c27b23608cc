// Package get has the command get: placements, clusters, sets and groups as rows.
//
// In go the rows of package resource, from a hub or from files; out come tables, data, or what an expression of the user makes of the data.
// With --watch each row that changes is printed. It never writes to the hub.
package get
