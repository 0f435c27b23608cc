// Package client is the root of the generated clients of Berth's kinds: versioned has the clients, listers and informers read from
// caches. `make generate` writes them from the types in the module api.
package client
