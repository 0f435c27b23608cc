package profile

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation"
)

// TestOptionsAreValidated has the whole text of each fault.
func TestOptionsAreValidated(t *testing.T) {
	defaults := DefaultOptions()
	if faults := defaults.Validate(); len(faults) > 0 {
		t.Errorf("the defaults: %q", faults)
	}
	for want, change := range map[string]func(*Options){
		`--profile-manager "": must be a label value that is not empty`:               func(o *Options) { o.Manager = "" },
		`--profile-manager "a b": must be a label value that is not empty`:            func(o *Options) { o.Manager = "a b" },
		`--profile-access-provider "a_b": ` + validation.IsDNS1123Subdomain("a_b")[0]: func(o *Options) { o.AccessProvider = "a_b" },
	} {
		options := DefaultOptions()
		change(&options)
		if diff := cmp.Diff([]string{want}, options.Validate()); diff != "" {
			t.Errorf("faults (-want +got):\n%s", diff)
		}
	}
}
