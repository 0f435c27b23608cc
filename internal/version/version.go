// Package version owns what a binary says of its own origin. It reads what the Go toolchain recorded in the binary, so
// that no build script can get it wrong.
package version

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// unknown is the version of a binary that was built without a module, as test binaries are.
const unknown = "unknown"

// Version returns the version of the module that the binary was built from: a release such as "v1.2.0", or for other
// commits a version that holds the commit.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return unknown
	}
	return info.Main.Version
}

// String returns one line with the version, the Go release and the platform.
func String() string {
	return fmt.Sprintf("%s (%s, %s/%s)", Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
