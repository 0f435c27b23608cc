// Package version owns the version of the running binary. It refuses to know anything else.
package version

import "runtime/debug"

// development is the version of a binary that was not built from a released module.
const development = "devel"

// Version returns the module version that the binary was built from, or "devel".
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return development
	}
	return info.Main.Version
}
