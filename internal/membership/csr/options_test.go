package csr

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-project/berth/internal/membership/registration/autoaccept"
)

// TestOptionsAreValidated has the whole text of each fault.
func TestOptionsAreValidated(t *testing.T) {
	defaults := DefaultOptions()
	if faults := defaults.Validate(); len(faults) > 0 {
		t.Errorf("the defaults: %q", faults)
	}
	for want, change := range map[string]func(*Options){
		"--max-certificate-duration 0s: must be above 0": func(o *Options) { o.MaxDuration = 0 },
		"--auto-accept: 33 rules, at most 32 are allowed": func(o *Options) {
			o.AutoAccept = slices.Repeat([]string{"user=u;name=n"}, autoaccept.MaxRules+1)
		},
		`--auto-accept "user=u": give name=PATTERN, of at most 256 characters`: func(o *Options) { o.AutoAccept = []string{"user=u"} },
	} {
		options := DefaultOptions()
		change(&options)
		if diff := cmp.Diff([]string{want}, options.Validate()); diff != "" {
			t.Errorf("faults (-want +got):\n%s", diff)
		}
	}
}
