// Package wake finds the placements whose decision a change of the fleet can touch. A heartbeat touches no placement, and a
// label only those that select by it. The package does not decide, and it does not compile placements.
//
// The Index holds what each placement depends on. A change of one cluster becomes a set of changed facts, and three
// collections of subscriptions contain every placement that the change can touch. The smallest of the three is checked:
//
//	change of a cluster (before, after)
//	        |
//	        v
//	+---------------+   facts: "label region exists", "label region = eu", "value of claim rack stays"
//	|   factTable   |   each has a state: holds before, holds after, both, neither
//	+---------------+
//	   |         |         |
//	   v         +         v
//	facts     guards    scopes        three collections of buckets of subscriptions
//	that      of both   that may
//	changed   times     contain the
//	   |         |      cluster
//	   +----+----+---------+
//	        |  the smallest
//	        v
//	+---------------+   one subscription for all placements with the same dependencies:
//	| subscription  |   scope, predicates, tiers, groups, topologies, facets, scores
//	+---------------+
//	        |  touchedBy
//	        v
//	placement keys
//
// A change that matters to every placement of a scope (a taint, a cluster that comes or goes, a member that joins or
// leaves a set) visits the scopes instead.
//
// One invariant: the result is never too small. A placement that is not returned would get the same decision.
package wake
