// Package compat tests Berth with other releases of Kubernetes than berth-hub links. The oldest supported release runs the manager and
// agents. A hub opens the data folder of the former release.
//
// `make compat` builds the programs of these releases, and runs these tests and the core of the other packages on them. Without the
// programs, the tests that need them are skipped. testdata/former.backup.gz is a backup of a hub on the former release, and
// testdata/former.json has what it stored. To write both again, after `make compat`, run in hub
//
//	BERTH_FORMER_KUBERNETES=$PWD/../bin/kubernetes/v1.35 go test ./integration/compat -run TestAHubOpensTheDataOfTheFormerRelease -record
package compat

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berth-project/berth/hub/hubtest"
)

const (
	// testTimeout is far longer than any wait of the tests on an idle machine.
	testTimeout = 3 * time.Minute
	// formerVariable names the folder with the programs of the release of Kubernetes before the linked one.
	formerVariable = "BERTH_FORMER_KUBERNETES"
)

// TestAHubRunsTheNamedRelease shows that a run of tests on the programs of another release is one.
func TestAHubRunsTheNamedRelease(t *testing.T) {
	folder := os.Getenv(hubtest.KubernetesVariable)
	if folder == "" {
		t.Skipf("NO OTHER RELEASE OF KUBERNETES IS TESTED: %s names no folder with its programs; run make compat", hubtest.KubernetesVariable)
	}
	hub := hubtest.New(t, hubtest.Options{})
	requireRelease(t, hub, filepath.Base(folder))
}

// requireRelease fails unless the API server of a hub has a minor version, such as v1.30.
func requireRelease(t *testing.T, hub *hubtest.Hub, minor string) {
	t.Helper()
	found, err := hub.Client(t).Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(found.GitVersion, minor+".") {
		t.Fatalf("the API server is %s, want %s", found.GitVersion, minor)
	}
	t.Logf("the API server is %s", found.GitVersion)
}
