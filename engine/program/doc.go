// Package program owns the compiled form of a Placement: its spec checked once, with every selector, expression,
// toleration and weight ready to run. Admission and the scheduler call the same Compile, so both accept the same specs.
//
// A Program depends only on the Placement. It holds no cluster.
package program
