package file_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berth-project/berth/internal/source/file"
)

// FuzzLoad reads any bytes. The result is a bundle, or faults with a position, and never a panic.
func FuzzLoad(f *testing.F) {
	for _, pattern := range []string{"../../cli/*/testdata/*/*.yaml", "../../cli/*/testdata/*/*.json", "../../../examples/simulate/*/*.*"} {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			f.Fatalf("no seeds in %s: %v", pattern, err)
		}
		for _, path := range paths {
			data, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(string(data))
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		bundle, err := file.Loader{Stdin: strings.NewReader(text)}.Load(t.Context(), []string{"-"})
		if err == nil {
			bundle.Snapshot(time.Unix(0, 0))
			return
		}
		faults, ok := errors.AsType[file.FaultsError](err)
		if !ok || len(faults) == 0 {
			t.Fatalf("got %v, want faults", err)
		}
		for _, fault := range faults {
			if fault.Position.File == "" || fault.Position.Document < 1 || fault.Position.Line < 1 {
				t.Errorf("the fault has no position: %v", fault)
			}
		}
	})
}
