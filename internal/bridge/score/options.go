package score

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	"k8s.io/utils/clock"
)

// Options configures the controller. Flags set the first part, the manager the second.
type Options struct {
	// ConfigFile is the path of the file with the queries, as Load reads it.
	ConfigFile string

	// What the manager sets.

	Clock    clock.Clock
	Registry prometheus.Registerer
}

// DefaultOptions returns the defaults of the flags.
func DefaultOptions() Options { return Options{} }

// AddFlags binds the options to flags.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.ConfigFile, "score-config", o.ConfigFile,
		"file with the queries of the controller score, which writes AddOnPlacementScores from the results of Prometheus")
}

// Validate returns every fault of the flags. It reads the file.
func (o *Options) Validate() []string {
	if o.ConfigFile == "" {
		return nil
	}
	if _, err := Load(o.ConfigFile); err != nil {
		return []string{fmt.Sprintf("--score-config: %v", err)}
	}
	return nil
}
