package csr

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	"k8s.io/utils/clock"

	"github.com/berth-project/berth/internal/membership/registration/approval"
	"github.com/berth-project/berth/internal/membership/registration/autoaccept"
)

// Options configures the controller. Flags set the first part, the manager the second.
type Options struct {
	// MaxDuration is the longest life of a certificate that is approved.
	MaxDuration time.Duration
	// AutoAccept are the rules by which clusters are accepted without an administrator, as autoaccept.Parse reads them.
	AutoAccept []string

	// What the manager sets.

	Clock clock.PassiveClock
	// Blocked reports whether another controller registers the clusters of the hub, so that this controller must not write.
	Blocked  func() bool
	Registry prometheus.Registerer
}

// DefaultOptions returns the defaults of the flags.
func DefaultOptions() Options { return Options{MaxDuration: approval.DefaultMaxDuration} }

// AddFlags binds the options to flags.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.DurationVar(&o.MaxDuration, "max-certificate-duration", o.MaxDuration,
		"longest life of a certificate that the controller csr approves; a request for a longer one waits for an administrator")
	flags.StringArrayVar(&o.AutoAccept, "auto-accept", o.AutoAccept,
		"rule by which the controller csr accepts new clusters, as 'user=NAME;name=PATTERN' or 'group=NAME;name=PATTERN;set=SET': "+
			"the requester of the first certificate, a regular expression for whole names of clusters, and their set; may be given several times")
}

// Validate returns every fault of the flags.
func (o *Options) Validate() []string {
	var out []string
	if o.MaxDuration <= 0 {
		out = append(out, fmt.Sprintf("--max-certificate-duration %s: must be above 0", o.MaxDuration))
	}
	if len(o.AutoAccept) > autoaccept.MaxRules {
		out = append(out, fmt.Sprintf("--auto-accept: %d rules, at most %d are allowed", len(o.AutoAccept), autoaccept.MaxRules))
	}
	if _, err := o.rules(); err != nil {
		out = append(out, fmt.Sprintf("--auto-accept %v", err))
	}
	return out
}

// rules reads the rules of AutoAccept.
func (o *Options) rules() ([]autoaccept.Rule, error) {
	var out []autoaccept.Rule
	for _, text := range o.AutoAccept {
		rule, err := autoaccept.Parse(text)
		if err != nil {
			return nil, err //nolint:wrapcheck // it quotes the rule
		}
		out = append(out, rule)
	}
	return out, nil
}
