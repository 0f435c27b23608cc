package embed

import (
	"fmt"
	"runtime/debug"
	_ "unsafe" // for go:linkname

	"k8s.io/component-base/version"
)

// kubernetesVersion is the version that Kubernetes' code reports. The release scripts of Kubernetes set it with a linker flag.
// A library keeps the placeholder "v0.0.0-master+$Format:%H$". Charts refuse to install on it, and kubectl's version command
// fails. Setting it here makes every plain go build correct.
//
//go:linkname kubernetesVersion k8s.io/component-base/version.gitVersion
var kubernetesVersion string //nolint:gochecknoglobals // another package's variable

// Versions are the versions of the code in this process.
type Versions struct {
	Kubernetes, Etcd string
}

// LinkedVersions returns the versions that the Go toolchain recorded.
func LinkedVersions() Versions {
	var v Versions
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	for _, module := range info.Deps {
		switch module.Path {
		case "k8s.io/kubernetes":
			v.Kubernetes = module.Version
		case "go.etcd.io/etcd/server/v3":
			v.Etcd = module.Version
		}
	}
	return v
}

// StampVersion sets the version that Kubernetes' code in this process reports. It is called once, before any of that code runs.
func StampVersion() error {
	linked := LinkedVersions().Kubernetes
	if linked == "" {
		return nil
	}
	kubernetesVersion = linked
	if err := version.SetDynamicVersion(linked); err != nil {
		return fmt.Errorf("setting the version of Kubernetes: %w", err)
	}
	return nil
}
