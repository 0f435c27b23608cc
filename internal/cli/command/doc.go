// Package command has what the commands of kubectl-berth share: arguments and flags with one meaning, errors and their exit codes, and the
// way a command line is run.
//
// In go arguments and values of flags; out come checked values, or errors whose type decides the exit code. It never reads a hub or a file,
// and has no single command.
package command
