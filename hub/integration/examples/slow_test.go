//go:build slow

package examples

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/checkout"
)

// TestExamples walks the folders.
func TestExamples(t *testing.T) {
	entries := kit.Must(os.ReadDir(checkout.Path(t, "examples"))).In(t)
	played := 0
	for _, entry := range entries {
		if !entry.IsDir() || slices.Contains(otherFolders, entry.Name()) {
			continue
		}
		played++
		t.Run(entry.Name(), func(t *testing.T) { applyScenario(t, filepath.Join(checkout.Path(t, "examples"), entry.Name())) })
	}
	if played == 0 {
		t.Error("no scenario in examples")
	}
}
