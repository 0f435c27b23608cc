//go:build slow

// Package argocd runs the ApplicationSet controller of Argo CD against a hub, with the generator that reads decisions, and checks that
// Applications come and go exactly with the decisions.
//
// `make slow` builds the controller, which takes minutes on a machine that has not built it.
package argocd

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/berth-project/berth/hub/hubtest"
)

// shared is the hub of all tests. Each test has Argo CD in a namespace of its own.
var shared *hubtest.Hub

func TestMain(m *testing.M) {
	folder, err := hubtest.ArgoCD()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(hubtest.Main(m, &shared, hubtest.Options{Manager: true, Manifests: os.DirFS(filepath.Join(folder, "definitions"))}))
}
