// Package compat tests Berth with other releases of Kubernetes than berth-hub links. It shows that a run of the tests on another release is
// one, and that a hub opens the data of the former release.
//
// `make slow` builds the programs of these releases, and runs these tests and the core of the other packages on them.
package compat

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

const (
	// testTimeout is far longer than any wait of the tests on an idle machine.
	testTimeout = 3 * time.Minute
	// linkedRelease is the minor version of Kubernetes that berth-hub links.
	linkedRelease = "v1.36"
)

// TestAHubRunsTheNamedRelease starts a hub of the release that KubernetesVariable names, or of the linked one, which installs every
// definition, policy and role, and reads the version of its API server.
func TestAHubRunsTheNamedRelease(t *testing.T) {
	release := linkedRelease
	if folder := os.Getenv(hubtest.KubernetesVariable); folder != "" {
		release = filepath.Base(folder)
	}
	requireRelease(t, hubtest.New(t, hubtest.Options{}), release)
}

// requireRelease fails unless the API server of a hub has a minor version, such as v1.30.
func requireRelease(t *testing.T, hub *hubtest.Hub, minor string) {
	t.Helper()
	found := kit.Must(hub.Client(t).Discovery().ServerVersion()).In(t)
	if !strings.HasPrefix(found.GitVersion, minor+".") {
		t.Fatalf("the API server is %s, want %s", found.GitVersion, minor)
	}
	t.Logf("the API server is %s", found.GitVersion)
}
