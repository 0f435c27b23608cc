// Package deptest tests what Berth's packages may reach, directly or through others, and gives the reason for each rule.
//
// The linter checks only direct imports. These tests follow the import graph of the built packages, without tests, and print the
// chain that breaks a rule. They have no code outside tests.
package deptest
