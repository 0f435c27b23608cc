package version_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/berth-project/berth/internal/kube/version"
)

func TestSkewIsReportedBeyondOneMinorVersion(t *testing.T) {
	tests := map[string]struct{ theirs, own, want string }{
		"the same":            {"v0.2.0", "v0.2.0", ""},
		"another commit":      {"v0.2.0+0123456789ab", "v0.2.0+ba9876543210", ""},
		"one ahead":           {"v0.3.4", "v0.2.0", ""},
		"one behind":          {"v0.1.0", "v0.2.9", ""},
		"two ahead":           {"v0.3.0", "v0.1.0", "the manager v0.3.0 is 2 minor versions ahead of v0.1.0"},
		"two behind":          {"v0.1.0", "v0.3.0", "the manager v0.1.0 is 2 minor versions behind v0.3.0"},
		"another major":       {"v1.0.0", "v0.9.0", "the manager v1.0.0 has another major version than v0.9.0"},
		"an unknown version":  {"", "v0.1.0", ""},
		"a version of others": {"unknown", "v0.1.0", ""},
	}
	for name, test := range tests {
		if got := version.Skew("the manager", test.theirs, test.own); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestAVersionIsTheValueOfALabel(t *testing.T) {
	label := version.Label()
	if faults := validation.IsValidLabelValue(label); len(faults) > 0 {
		t.Errorf("%s: %v", label, faults)
	}
	if got := version.FromLabel(label); got != version.Version() {
		t.Errorf("%s becomes %s, want %s", label, got, version.Version())
	}
}
