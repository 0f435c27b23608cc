// Package transform owns the transforms of the caches: they drop what no controller reads, and store each string once for all
// objects. Every object passes them before a handler reads it.
//
// It changes nothing that a handler reads. The invariant: a transformed object lacks only its managed fields and, unless it
// is a cluster, the annotation of kubectl with the last applied configuration.
package transform
