package acceptance

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/utils/clock"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
)

// Options configures the controller. Flags set the first part, the manager the second.
type Options struct {
	// BindAgentUser gives the permissions of a cluster to the recorded agent only, instead of to every user of the groups of the cluster.
	BindAgentUser bool

	// OnDelete is what becomes of the workloads of a deleted cluster without the annotation: clusterv1.OnDeleteRemove or OnDeleteKeep. Empty
	// is OnDeleteRemove; the policies of config/protection require the annotation then.
	OnDelete string

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
	flags.StringVar(&o.OnDelete, "on-delete", o.OnDelete,
		"what becomes of the workloads of a deleted ManagedCluster without the annotation "+clusterv1.OnDeleteAnnotationKey+
			": Remove or Keep; empty: Remove, and a hub that is protected from deletions requires the annotation")
}

// Validate returns every fault of the flags.
func (o *Options) Validate() []string {
	switch o.OnDelete {
	case "", clusterv1.OnDeleteRemove, clusterv1.OnDeleteKeep:
		return nil
	default:
		return []string{fmt.Sprintf("--on-delete %q: must be Remove or Keep, or empty", o.OnDelete)}
	}
}
