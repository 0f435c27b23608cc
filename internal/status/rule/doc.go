// Package rule evaluates the alerting rules that Berth ships, on the samples of a manager's own metrics.
//
// It reads no PromQL. Each condition is a value that is computed here and that has the expression for Prometheus, and a rule whose
// expression differs from it is refused. So the console shows the alerts that Prometheus would show. The package has no clock and no
// client: a caller gives it samples with their instants.
package rule
