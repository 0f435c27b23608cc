// Package source owns what every way of reading a hub has in common: the rule that says which
// placement a stored slice belongs to. The packages below it read the objects, from files or from a live hub.
//
// It refuses to know where objects come from. Each slice has exactly one owner, so no decision is counted twice.
package source
