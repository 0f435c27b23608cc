// Package cli owns the commands of kubectl-berth, one per file: arguments, output and exit codes.
//
// A command reads a fleet from package source, decides it with package offline where no hub does, and prints through packages
// resource and printer. Callers pass the streams and the clock, so that a test runs a command as a user does. Results go to
// Out, everything else to ErrOut.
package cli
