package certificate

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestOptionsAreValidated has the whole text of each fault.
func TestOptionsAreValidated(t *testing.T) {
	var defaults Files
	if faults := defaults.Validate(); len(faults) > 0 {
		t.Errorf("the defaults: %q", faults)
	}
	for want, change := range map[string]func(*Files){
		`--tls-cert-file "a" and --tls-private-key-file "": give both or none`: func(f *Files) { f.CertFile = "a" },
		`--tls-cert-file "" and --tls-private-key-file "a": give both or none`: func(f *Files) { f.KeyFile = "a" },
		`--tls-ca-file "a": is of no use without --tls-cert-file`:              func(f *Files) { f.CAFile = "a" },
	} {
		options := Files{}
		change(&options)
		if diff := cmp.Diff([]string{want}, options.Validate()); diff != "" {
			t.Errorf("faults (-want +got):\n%s", diff)
		}
	}
}
