// Package clitest runs commands in tests, and has the fleets that tests of several commands share.
//
// In go a command line and what it reads from standard input; out come the exit code and what it wrote. The clock stands still, so that
// equal command lines give equal results. It never runs outside tests.
package clitest
