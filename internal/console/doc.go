// Package console serves web pages that show a fleet, the reasons of its decisions, and the next move.
//
// It owns the pages, their stream of changes and their protection against other web pages. It has no client: a Session of the caller
// reads the fleet and carries out the few writes, with the rights of that caller. Pages are rendered on the server. The modules of ui/
// draw the grid of clusters, replace the parts that change, and copy commands.
package console
