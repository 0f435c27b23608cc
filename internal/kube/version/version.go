// Package version owns the version of a binary. It reads the build information that the Go toolchain recorded, so that no
// build script can get it wrong.
package version

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"k8s.io/apimachinery/pkg/version"
)

// release is the release that this tree leads to, as in CHANGELOG.md and the charts. The first commit after a release raises it.
const release = "v0.1.0"

const (
	// unknown is the version of a binary without build information.
	unknown = "unknown"
	// development stands for the commit in the version of a binary that was built without version control, and of test binaries.
	development = "devel"
	// shortRevision is the number of characters of a shortened revision.
	shortRevision = 12
)

// Version returns the version of the binary: a release such as "v1.2.0" where the commit has its tag, else the release that the commit
// leads to, with the commit, such as "v1.2.0+0123456789ab".
func Version() string {
	info, _ := debug.ReadBuildInfo()
	return Of(info).GitVersion
}

// String returns one line with the version, the Go release and the platform.
func String() string {
	return fmt.Sprintf("%s (%s, %s/%s)", Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// Get returns the build information of the binary in the form of Kubernetes.
func Get() version.Info {
	info, _ := debug.ReadBuildInfo()
	return Of(info)
}

// Of converts build information; nil means that the binary has none.
func Of(info *debug.BuildInfo) version.Info {
	out := version.Info{
		GitVersion: unknown, GoVersion: runtime.Version(), Compiler: runtime.Compiler, Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
	if info == nil {
		return out
	}
	settings := map[string]string{}
	for _, setting := range info.Settings {
		settings[setting.Key] = setting.Value
	}
	out.GitCommit, out.BuildDate = settings["vcs.revision"], settings["vcs.time"]
	switch settings["vcs.modified"] {
	case "true":
		out.GitTreeState = "dirty"
	case "false":
		out.GitTreeState = "clean"
	}
	tagged := strings.Trim(info.Main.Version, "()")
	if commit := out.GitCommit[:min(shortRevision, len(out.GitCommit))]; tagged == "" || tagged == development ||
		commit != "" && strings.Contains(tagged, commit) {
		tagged = release + "+" + cmp.Or(commit, development)
		if out.GitTreeState == "dirty" {
			tagged += ".dirty"
		}
	}
	out.GitVersion = tagged
	return out
}
