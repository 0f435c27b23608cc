// Package rule evaluates the alerting rules that Berth ships, on the samples of a manager's own metrics.
//
// It reads the part of PromQL that these rules use, and refuses the rest. It has no clock and no client: a caller gives it samples with
// their instants. So the console shows the alerts that Prometheus would show, from the same file.
package rule
