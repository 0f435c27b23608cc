// Package runner has the command test: it runs scenarios and compares the decisions with the expected ones.
//
// In go scenario files; out comes a report as text, JSON or JUnit, and an exit code. Package scenario has the format, package offline
// decides. It never reads a hub.
package runner
