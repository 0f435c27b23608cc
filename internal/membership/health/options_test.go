package health

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

// TestOptionsAreValidated has the whole text of each fault.
func TestOptionsAreValidated(t *testing.T) {
	defaults := DefaultOptions()
	if faults := defaults.Validate(); len(faults) > 0 {
		t.Errorf("the defaults: %q", faults)
	}
	for want, change := range map[string]func(*Options){
		"--unreachable-limit 101: must be a percentage, 1 to 100": func(o *Options) { o.UnreachableLimit = 101 },
		"--unreachable-limit 0: must be a percentage, 1 to 100":   func(o *Options) { o.UnreachableLimit = 0 },
	} {
		options := DefaultOptions()
		change(&options)
		if diff := cmp.Diff([]string{want}, options.Validate()); diff != "" {
			t.Errorf("faults (-want +got):\n%s", diff)
		}
	}
}

// TestHowUnjoinedClustersAreTainted: only a flag that was set evicts selected clusters.
func TestHowUnjoinedClustersAreTainted(t *testing.T) {
	for flag, want := range map[string]Unjoined{
		"": TaintUnlessSelected, "--taint-unjoined=false": TaintReportedOnly,
		"--taint-unjoined": TaintUnjoined, "--taint-unjoined=true": TaintUnjoined,
	} {
		options := DefaultOptions()
		flags := pflag.NewFlagSet("health", pflag.ContinueOnError)
		options.AddFlags(flags)
		if err := flags.Parse(strings.Fields(flag)); err != nil {
			t.Fatal(err)
		}
		if got := options.unjoined(); got != want || options.TaintsUnjoined() != (want != TaintReportedOnly) {
			t.Errorf("%q: %v, taints %t; want %v", flag, got, options.TaintsUnjoined(), want)
		}
	}
}
