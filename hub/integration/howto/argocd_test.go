//go:build slow

package howto

import (
	"path/filepath"
	"testing"

	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/checkout"
)

// TestArgoCD runs the page for Argo CD with its controller.
func TestArgoCD(t *testing.T) {
	folder := kit.Must(hubtest.ArgoCD()).In(t)
	runPage(t, filepath.Join(checkout.Path(t, "docs/how-to"), argoPage), folder)
}
