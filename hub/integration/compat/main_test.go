// Package compat shows that a run of the tests on another release of Kubernetes is one. `make compat` builds the API server of the oldest
// supported release, and runs the core of the other packages on it.
package compat

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-project/berth/hub/hubtest"
)

// TestAHubRunsTheNamedRelease starts a hub, which installs every definition, policy and role, and reads the version of its API server.
func TestAHubRunsTheNamedRelease(t *testing.T) {
	folder := os.Getenv(hubtest.KubernetesVariable)
	if folder == "" {
		t.Skipf("NO OTHER RELEASE OF KUBERNETES IS TESTED: %s names no folder with its programs; run make compat", hubtest.KubernetesVariable)
	}
	hub := hubtest.New(t, hubtest.Options{})
	found, err := hub.Client(t).Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Base(folder); !strings.HasPrefix(found.GitVersion, want+".") {
		t.Fatalf("the API server is %s, want %s", found.GitVersion, want)
	}
	t.Logf("the API server is %s", found.GitVersion)
}
