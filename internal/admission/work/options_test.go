package work

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestOptionsAreValidated has the whole text of each fault.
func TestOptionsAreValidated(t *testing.T) {
	defaults := DefaultOptions()
	if faults := defaults.Validate(); len(faults) > 0 {
		t.Errorf("the defaults: %q", faults)
	}
	for want, change := range map[string]func(*Options){
		`--nil-executor "x": must be ignore, warn, review`: func(o *Options) {
			o.NilExecutor = "x"
		},
		"--manifest-limit 0: must be 1 to 1572864, since the API server stores no larger objects": func(o *Options) {
			o.ManifestLimit = 0
		},
		"--manifest-limit 1572865: must be 1 to 1572864, since the API server stores no larger objects": func(o *Options) {
			o.ManifestLimit = maxManifestLimit + 1
		},
	} {
		options := DefaultOptions()
		change(&options)
		if diff := cmp.Diff([]string{want}, options.Validate()); diff != "" {
			t.Errorf("faults (-want +got):\n%s", diff)
		}
	}
}
