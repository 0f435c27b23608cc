package version_test

import (
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/berth-project/berth/internal/kube/version"
)

func TestStringNamesEverything(t *testing.T) {
	got := version.String()
	for _, want := range []string{version.Version(), runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH} {
		if want == "" || !strings.Contains(got, want) {
			t.Errorf("%q does not contain %q", got, want)
		}
	}
}

// TestTheReleaseIsTheSameEverywhere compares the version of a build with the changelog and the charts.
func TestTheReleaseIsTheSameEverywhere(t *testing.T) {
	release, _, _ := strings.Cut(version.Of(&debug.BuildInfo{}).GitVersion, "+")
	number := strings.TrimPrefix(release, "v")
	for file, want := range map[string]string{
		"CHANGELOG.md":                  "\n## [" + number + "]",
		"charts/berth/Chart.yaml":       "\nversion: " + number + "\nappVersion: " + release + "\n",
		"charts/berth-agent/Chart.yaml": "\nversion: " + number + "\nappVersion: " + release + "\n",
	} {
		content, err := os.ReadFile(filepath.Join("..", "..", "..", file))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(content), want) {
			t.Errorf("%s lacks %q", file, want)
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
		"a release":              {record("v1.2.0", revision), "v1.2.0"},
		"a release with changes": {record("v1.2.0+dirty", revision, modified), "v1.2.0+dirty"},
		"a commit without a tag": {record("v0.0.0-20261120100000-0123456789ab", revision), "v0.1.0+0123456789ab"},
		"a commit after a tag":   {record("v0.0.2-0.20261120100000-0123456789ab", revision), "v0.1.0+0123456789ab"},
		"a commit with changes": {
			record("v0.0.0-20261120100000-0123456789ab+dirty", revision, modified),
			"v0.1.0+0123456789ab.dirty",
		},
		"a checkout without a version of the module": {record("(devel)", revision), "v0.1.0+0123456789ab"},
		"a checkout without version control":         {record("(devel)"), "v0.1.0+devel"},
		"a test binary":                              {record(""), "v0.1.0+devel"},
		"no record":                                  {nil, "unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := version.Of(tc.info); got.GitVersion != tc.want || got.GoVersion == "" || got.Platform == "" {
				t.Errorf("got %+v, want version %s", got, tc.want)
			}
		})
	}
}
