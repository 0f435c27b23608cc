// Package file reads a fleet from files: what `kubectl get -o yaml` or `-o json` prints, manifests, or both together.
// It owns the way from bytes to a Bundle of typed objects and from there to a fleet.Snapshot.
//
// What it gives out is what a hub would hold had every object been stored there: checked by the schema, the rules and
// the compiler that a hub's API server and admission run, with unknown fields dropped and defaults filled in. Every
// fault is reported, each with its file, document and field; a Bundle exists only if there is none.
//
// A Bundle is also what commands decide on when they read a hub: Assemble makes one of what was listed there.
//
// It refuses to decide anything and talks to no server. Files and standard input are all it reads, up to a limit.
package file
