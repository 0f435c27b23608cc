// Package cli owns the commands of kubectl-berth, one per file: what they take, what they print, and how they exit.
//
// It refuses to know the process: streams and clock are handed in, so that every command runs in a test as it runs for
// a user. Results go to Out, everything else to ErrOut. Nothing here decides; a command asks the engine.
package cli
