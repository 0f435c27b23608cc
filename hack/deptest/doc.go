// Package deptest tests what Berth's packages may reach, directly or through others, and gives the reason for each rule.
//
// The linter checks direct imports, file by file; a dependency three packages away escapes it. These tests follow the
// import graph of what is built (tests left out) and print the chain that breaks a rule. They have no code outside tests.
package deptest
