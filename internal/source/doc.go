// Package source owns what every way of reading a hub has in common: which kinds of objects decisions depend on, and
// the rule that says which placement a stored slice belongs to. The packages below it read the objects, from files or
// from a live hub.
//
// It keeps nothing. Each slice has exactly one owner, so no decision is counted twice.
package source
