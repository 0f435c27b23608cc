package placement

import (
	"fmt"
	"slices"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/utils/clock"

	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/internal/placement/history"
)

const (
	// maxWorkers is the largest --workers.
	maxWorkers = 256
	// maxExpressionHold is the longest --expression-hold.
	maxExpressionHold = 30 * 24 * time.Hour
)

// Values of --emptying-edits. With each but the last, the webhook warns of an edit that would leave a placement without clusters.
const (
	HoldEmptyingEdits   = "hold"
	WarnEmptyingEdits   = "warn"
	FollowEmptyingEdits = "off"
)

// Values of --brake.
const (
	BrakeOn  = "on"
	BrakeOff = "off"
)

// Options configures the controller. Flags set the first part, the manager the second.
type Options struct {
	// Workers is the number of placements that are decided concurrently.
	Workers int
	// WithdrawalGrace is how long a deleted set or binding, and a clusterset label that was taken off, count for selected clusters; other
	// labels and claims count a third of it. 0: until the API server has confirmed that they are gone.
	WithdrawalGrace time.Duration
	// ExpressionHold is how long a selected cluster stays on which an expression fails because a claim or score is missing, and how long
	// the last value of a score that is missing or out of date counts for a selected cluster. 0: not at all.
	ExpressionHold time.Duration
	// EmptyingEdits is what becomes of an edit that would leave a placement without clusters: HoldEmptyingEdits, WarnEmptyingEdits or
	// FollowEmptyingEdits.
	EmptyingEdits string

	// Brake is whether evictions stop when too many clusters would leave at once: BrakeOn or BrakeOff. A brake ends by itself after
	// BrakeTimeout; 0: never.
	Brake        string
	BrakeTimeout time.Duration

	// What the manager sets.

	Clock   clock.WithTickerAndDelayedExecution
	Metrics *Metrics
	// Record keeps runs and changes, to explain them.
	Record *history.Record
	// Env compiles CEL expressions.
	Env *celenv.Env
	// BuiltIn means that the clusterset controller restores the sets `default` and `global`. While such a set is missing, decisions
	// stay as if it were there.
	BuiltIn bool
	// Tainted is closed once the health controller has tainted the clusters that never joined. The first decision waits for it, up
	// to taintTimeout. Nil: it does not wait.
	Tainted <-chan struct{}
	// Hub reports missing fields of the CustomResourceDefinitions. Nil: all fields exist.
	Hub Hub
	// Definitions reports whether a definition, or what went with it, is missing. Nil: none ever is.
	Definitions Definitions
}

// DefaultOptions returns the defaults of the flags.
func DefaultOptions() Options {
	return Options{Workers: 24, WithdrawalGrace: 15 * time.Second, ExpressionHold: time.Hour, EmptyingEdits: WarnEmptyingEdits, Brake: BrakeOn}
}

// AddFlags binds the options to flags.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.IntVar(&o.Workers, "workers", o.Workers, "number of placements decided concurrently")
	flags.DurationVar(&o.WithdrawalGrace, "withdrawal-grace", o.WithdrawalGrace,
		"how long selected clusters stay after their set, its binding or their clusterset label is gone; "+
			"a third of it after another label or a claim is gone; 0: they leave once the API server has confirmed it")
	flags.DurationVar(&o.ExpressionHold, "expression-hold", o.ExpressionHold,
		"how long selected clusters stay on which an expression fails "+
			"because a claim or score is missing, and how long their last scores count; 0: not at all")
	flags.StringVar(&o.EmptyingEdits, "emptying-edits", o.EmptyingEdits,
		"what becomes of an edit that would leave a placement without clusters: `hold` keeps them until it is confirmed, warn warns of it, "+
			"off does neither; off also follows an edit that names a set, key, name or score that no cluster has")
	o.addBrakeFlags(flags)
}

// addBrakeFlags binds the options of brakes to flags.
func (o *Options) addBrakeFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.Brake, "brake", o.Brake,
		"`on` stops evictions when more than 55 % of the clusters of the fleet or of a set, or of all decisions, would leave within a minute "+
			"by their labels, claims, scores or taints, until the cause goes or a user releases them; off lets them leave")
	flags.DurationVar(&o.BrakeTimeout, "brake-timeout", o.BrakeTimeout, "how long evictions are stopped at most; 0: without a limit")
}

// Validate returns every fault of the flags.
func (o *Options) Validate() []string {
	var out []string
	if o.Workers < 1 || o.Workers > maxWorkers {
		out = append(out, fmt.Sprintf("--workers %d: must be 1 to %d", o.Workers, maxWorkers))
	}
	if !slices.Contains([]string{HoldEmptyingEdits, WarnEmptyingEdits, FollowEmptyingEdits}, o.EmptyingEdits) {
		out = append(out, fmt.Sprintf("--emptying-edits %q: must be hold, warn or off", o.EmptyingEdits))
	}
	if o.ExpressionHold < 0 || o.ExpressionHold > maxExpressionHold {
		out = append(out, fmt.Sprintf("--expression-hold %s: must be 0 to %s", o.ExpressionHold, maxExpressionHold))
	}
	if !slices.Contains([]string{BrakeOn, BrakeOff}, o.Brake) {
		out = append(out, fmt.Sprintf("--brake %q: must be on or off", o.Brake))
	}
	if o.BrakeTimeout < 0 || o.BrakeTimeout > maxExpressionHold {
		out = append(out, fmt.Sprintf("--brake-timeout %s: must be 0 to %s", o.BrakeTimeout, maxExpressionHold))
	}
	if o.WithdrawalGrace < 0 || o.WithdrawalGrace > time.Hour {
		out = append(out, fmt.Sprintf("--withdrawal-grace %s: must be 0 to 1h", o.WithdrawalGrace))
	}
	return out
}

// rules returns the rules of the hub.
func (o *Options) rules() fleet.Rules {
	return fleet.Rules{
		HoldEmptyingEdits: o.EmptyingEdits == HoldEmptyingEdits, HoldUnknownReferences: o.EmptyingEdits != FollowEmptyingEdits,
		ExpressionHold: o.ExpressionHold,
	}
}
