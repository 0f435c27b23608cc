// Package argocd runs the ApplicationSet controller of Argo CD against a hub, with the generator that reads decisions, and checks that
// Applications come and go exactly with the decisions.
//
// `make ecosystem` builds the controller, which takes minutes on a machine that has not built it. Without it the tests are skipped.
package argocd

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/berth-project/berth/hub/hubtest"
)

// shared is the hub of all tests. Each test has Argo CD in a namespace of its own.
var shared *hubtest.Hub

func TestMain(m *testing.M) {
	folder, built := hubtest.ArgoCD()
	if !built {
		os.Exit(m.Run())
	}
	os.Exit(hubtest.Main(m, &shared, hubtest.Options{Manager: true, Manifests: os.DirFS(filepath.Join(folder, "definitions"))}))
}
