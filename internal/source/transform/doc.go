// Package slim owns what is kept of objects that informers read: what no loop reads is dropped, and what is the same in many
// objects is kept once. Objects pass it before anybody else sees them.
//
// It refuses to change what an object says to whoever reads it. The invariant: an object that has passed differs from
// the one that was read only by what is named here: managed fields, and what kubectl noted of itself on others than clusters.
package transform
