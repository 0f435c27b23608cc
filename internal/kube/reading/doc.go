// Package reading has what the decision of a placement is worth for what is delivered by it: the planners of works and add-ons read it.
//
// It plans nothing and sends nothing. The invariant: only a complete reading lets an object go.
package reading
