package acceptance

import (
	"time"

	"github.com/spf13/pflag"
	"k8s.io/utils/clock"
)

// Options configures the controller. Flags set the first part, the manager the second.
type Options struct {
	// BindAgentUser gives the permissions of a cluster to the recorded agent only, instead of to every user of the groups of the cluster.
	BindAgentUser bool

	// What the manager sets.

	Clock clock.PassiveClock
	// Blocked reports whether another controller registers the clusters of the hub, so that this controller must not write.
	Blocked func() bool
	// WorkTimeout is how long the works of a cluster that is being deleted wait for a silent agent; 0: without end.
	WorkTimeout time.Duration
}

// DefaultOptions returns the defaults of the flags.
func DefaultOptions() Options { return Options{} }

// AddFlags binds the options to flags.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&o.BindAgentUser, "bind-agent-user", o.BindAgentUser,
		"give the permissions of a cluster to the user of its recorded agent only, instead of to the groups of the cluster, "+
			"so that a former certificate has none")
}

// Validate returns every fault of the flags: every value is valid.
func (*Options) Validate() []string { return nil }
