package version_test

import (
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/berth-project/berth/internal/version"
)

func TestStringNamesEverything(t *testing.T) {
	got := version.String()
	for _, want := range []string{version.Version(), runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH} {
		if want == "" || !strings.Contains(got, want) {
			t.Errorf("%q does not contain %q", got, want)
		}
	}
}

// TestABuildFromACheckoutHasAVersion checks that only a binary without any record of its build has no version.
func TestABuildFromACheckoutHasAVersion(t *testing.T) {
	record := func(module string, settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: module}, Settings: settings}
	}
	revision := debug.BuildSetting{Key: "vcs.revision", Value: "0123456789abcdef0123456789abcdef01234567"}
	modified := debug.BuildSetting{Key: "vcs.modified", Value: "true"}
	for name, tc := range map[string]struct {
		info *debug.BuildInfo
		want string
	}{
		"a release": {record("v1.2.0", revision), "v1.2.0"},
		"a commit":  {record("v0.0.0-20261120100000-0123456789ab", revision), "v0.0.0-20261120100000-0123456789ab"},
		"a checkout without a version of the module": {record("(devel)", revision), "devel-0123456789ab"},
		"a checkout with changes":                    {record("(devel)", revision, modified), "devel-0123456789ab-dirty"},
		"a checkout without version control":         {record("(devel)"), "devel"},
		"a test binary":                              {record(""), "devel"},
		"no record":                                  {nil, "unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := version.Of(tc.info); got.GitVersion != tc.want || got.GoVersion == "" || got.Platform == "" {
				t.Errorf("got %+v, want version %s", got, tc.want)
			}
		})
	}
}
