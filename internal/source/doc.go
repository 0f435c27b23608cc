// Package source owns what all readers of a hub share: the kinds of objects that decisions depend on, and the rule that
// assigns a stored slice to a placement. The packages below it read the objects, from files or from a live hub.
//
// It stores nothing. Each slice has exactly one owner, so that no decision counts twice.
package source
