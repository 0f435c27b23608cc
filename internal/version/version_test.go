package version_test

import (
	"runtime"
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
