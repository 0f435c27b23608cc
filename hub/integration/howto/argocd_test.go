//go:build slow

package howto

import (
	"path/filepath"
	"testing"

	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/internal/checkout"
)

// TestArgoCD runs the page for Argo CD with its controller.
func TestArgoCD(t *testing.T) {
	folder, err := hubtest.ArgoCD()
	if err != nil {
		t.Fatal(err)
	}
	runPage(t, filepath.Join(checkout.Path(t, "docs/how-to"), argoPage), folder)
}
