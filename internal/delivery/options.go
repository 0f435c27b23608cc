package delivery

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-project/berth/engine/celenv"
)

// Options configures the controller. Flags set the first part, the manager the second.
type Options struct {
	// FanoutBytes is how many bytes of specs may be written at once, and then in each plan.PaceWindow; 0 for no limit.
	FanoutBytes int64
	// StatusInterval is the least time between two status writes of a set, but for the first and the last of a rollout.
	StatusInterval time.Duration

	// What the manager sets.

	Clock clock.PassiveClock
	// OnDelete is what becomes of the workloads of a deleted cluster without the annotation; see registration.KeepsWorkloads.
	OnDelete string
	// Blocked reports whether another controller keeps the sets of the hub, so that this controller must not write.
	Blocked func() bool
	// UsersVerified reports whether the API server verifies the users that RolloutControls name.
	UsersVerified func(ctx context.Context) (bool, error)
	// Going returns the clusters that a placement has by a right that is being withdrawn, each with that right. Nil: never any.
	Going func(placement client.ObjectKey) map[string]string
	// Env compiles the CEL expressions of overrides.
	Env *celenv.Env
	// Leases means that the cache of the manager has the leases of clusters, so that a soak waits for a sign of life.
	Leases bool
	// RolloutControls reports whether the hub defines RolloutControls.
	RolloutControls func() bool
	// FormerTemplates reports whether the hub serves FormerTemplates.
	FormerTemplates func() bool
	// ManifestLimit is how many bytes the manifests of a work may have together.
	ManifestLimit int
	// Registry is where the metrics are registered.
	Registry prometheus.Registerer
	// Reader reads what the controller plans from; nil where no surface shows it.
	Reader *Reader
}

// maxStatusInterval is well below the time after which what happens during a soak counts as not watched.
const maxStatusInterval = 2 * time.Second

// DefaultOptions returns the defaults of the flags.
func DefaultOptions() Options { return Options{FanoutBytes: 200_000_000, StatusInterval: time.Second} }

// AddFlags binds the options to flags.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.Int64Var(&o.FanoutBytes, "fanout-bytes", o.FanoutBytes,
		"bytes of specs of ManifestWorks that the controller "+Name+" may write at once, and then in each 5 minutes; 0: no bound")
	flags.DurationVar(&o.StatusInterval, "rollout-status-interval", o.StatusInterval,
		"least time between two writes of the status of a ManifestWorkReplicaSet during a rollout; "+maxStatusInterval.String()+" at most, "+
			"since a soak counts only what the record shows")
}

// Validate returns every fault of the flags.
func (o *Options) Validate() []string {
	var out []string
	if o.FanoutBytes < 0 {
		out = append(out, fmt.Sprintf("--fanout-bytes %d: must be 0 or more", o.FanoutBytes))
	}
	if o.StatusInterval < 0 || o.StatusInterval > maxStatusInterval {
		out = append(out, fmt.Sprintf("--rollout-status-interval %s: must be from 0 to %s", o.StatusInterval, maxStatusInterval))
	}
	return out
}
