// Package host serves the pages of the console from the memory of the manager, read-only, to callers with a bearer token.
//
// The hub reviews the token. A caller sees the clusters and sets of its views, and the placements of the namespaces in which it may list
// placements and their decisions. No request is sent in the name of a caller.
package host
