package cleanup

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/utils/clock"
)

// Options configures the controller. Flags set the first part, the manager the second.
type Options struct {
	// Timeout is how long deleted works wait where there is no ManagedCluster; 0: without end. The works of a cluster that is being deleted
	// wait for a silent agent as long.
	Timeout time.Duration

	// What the manager sets.

	Clock clock.PassiveClock
	// Blocked reports whether another controller keeps the works of the hub, so that this controller must not write.
	Blocked func() bool
}

// DefaultOptions returns the defaults of the flags.
func DefaultOptions() Options { return Options{Timeout: 10 * time.Minute} }

// AddFlags binds the options to flags.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.DurationVar(&o.Timeout, "work-cleanup-timeout", o.Timeout,
		"how long the works of a ManagedCluster that is being deleted wait for a silent agent, "+
			"and deleted works where there is no ManagedCluster; then they go, and what they applied stays on the member; 0: without end")
}

// Validate returns every fault of the flags.
func (o *Options) Validate() []string {
	if o.Timeout < 0 {
		return []string{fmt.Sprintf("--work-cleanup-timeout %s: must be 0 or more", o.Timeout)}
	}
	return nil
}
