//go:build slow

package howto

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/internal/checkout"
)

// argoPage runs a controller of Argo CD.
const argoPage = "argo-cd.md"

// TestArgoCD runs the page for Argo CD with its controller.
func TestArgoCD(t *testing.T) {
	folder, err := hubtest.ArgoCD()
	if err != nil {
		t.Fatal(err)
	}
	runPage(t, filepath.Join(checkout.Path(t, "docs/how-to"), argoPage), folder)
}

// TestAgentless runs the page of operations for clusters without an agent.
func TestAgentless(t *testing.T) { runPage(t, checkout.Path(t, "docs/operations/agentless.md")) }

// The other pages are in two tests, which shards may divide.

func TestHowTosFromAToI(t *testing.T) {
	runPages(t, otherPages(t, func(name string) bool { return name < "j" }))
}

func TestHowTosFromJToZ(t *testing.T) {
	runPages(t, otherPages(t, func(name string) bool { return name >= "j" }))
}

// otherPages returns the pages that are not of every change, but that of Argo CD.
func otherPages(t *testing.T, of func(name string) bool) []string {
	t.Helper()
	entries, err := os.ReadDir(checkout.Path(t, "docs/how-to"))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, entry := range entries {
		name := strings.TrimSuffix(entry.Name(), ".md")
		if entry.Name() != argoPage && of(name) && !slices.Contains(everyChange(), name) {
			out = append(out, name)
		}
	}
	if len(out) == 0 {
		t.Fatal("there is no page")
	}
	return out
}
