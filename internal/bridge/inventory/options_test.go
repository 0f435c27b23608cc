package inventory

import (
	"slices"
	"testing"
	"time"

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
		"--inventory-namespaces: 65 namespaces, at most 64 are allowed": func(o *Options) {
			o.Namespaces = slices.Repeat([]string{"fleet"}, maxNamespaces+1)
		},
		`--inventory-namespaces "A": ` + validation.IsDNS1123Label("A")[0]: func(o *Options) { o.Namespaces = []string{"A"} },
		"--inventory-grace -1s: must be 0 or more":                         func(o *Options) { o.Grace = -time.Second },
	} {
		options := DefaultOptions()
		change(&options)
		if diff := cmp.Diff([]string{want}, options.Validate()); diff != "" {
			t.Errorf("faults (-want +got):\n%s", diff)
		}
	}
}
