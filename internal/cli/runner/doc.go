// Package runner runs scenarios and compares the decisions with the expected ones.
package runner
