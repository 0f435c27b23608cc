// Package program owns the compiled form of a Placement: its spec checked once, with every selector, expression,
// toleration and weight ready to run. Admission calls the same Compile as the scheduler, so what one accepts the
// other accepts.
//
// It refuses to know any cluster: a Program depends on the Placement alone. It also owns the reverse Index, which
// finds the placements that a change of the fleet can touch from the facts that their programs read.
package program
