// Package decided has the command decisions: it reads the complete decision of a placement from a hub and writes it in the stable forms
// that scripts read.
//
// It owns the forms and the rule when a reading is complete enough to print. It writes nothing to the hub. One invariant: it never writes a
// part of a decision.
package decided
