// Package report computes what a user reads about a delivery: for each cluster of a set its state, since when, what fails, what happens
// next and when.
//
// It is pure: it plans by package plan and words the result, so that commands, the aggregated API and tests give the same answer.
// It reads no clock, sends no request and never has a value of a manifest.
package report
