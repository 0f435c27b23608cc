// Package cli has the root command of kubectl-berth. Each command, or group of commands that share code, is a package below it.
//
// In go a command line, the streams and the clock; out comes the exit code. Results go to Out, everything else to ErrOut. A test passes
// streams and a clock, and runs a command as a user does. No command imports this package.
package cli
