// Package monitoring contains the alerting rules that Berth ships, as a file in the binary.
//
// It owns the file. The rules are for Prometheus, and the console evaluates them too.
package monitoring

import _ "embed"

//go:embed alerts.yaml
var alerts []byte

// Alerts returns the rules, in YAML.
func Alerts() []byte { return alerts }
