// Package cli owns the commands of kubectl-berth, one per file: arguments, output and exit codes.
//
// It does not use the streams and the clock of the process: callers pass them, so that a test runs a command as a user does.
// Results go to Out, everything else to ErrOut. It decides nothing itself; commands call the engine.
package cli
