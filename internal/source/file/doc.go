// Package file reads a fleet from files: the output of `kubectl get -o yaml` or `-o json`, manifests, or both. It owns the
// way from bytes to a Bundle of typed objects, and from a Bundle to a fleet.Snapshot.
//
// A Bundle holds what a hub would store: objects that pass the schema, the rules and the compiler of a hub, without unknown
// fields and with defaults. Every fault is reported with its file, document and field. Input with a fault makes no Bundle.
//
// Commands that read a hub also decide on a Bundle: NewCompiledBundle makes it from listed objects.
//
// The package decides nothing and calls no server. It reads files and standard input alone, up to a limit.
package file
