package decision_test

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestUsersGetNoFurtherDependencies lists the modules that a program with these packages is built from.
func TestUsersGetNoFurtherDependencies(t *testing.T) {
	_ = os.Getenv("BERTH_AREA_SOURCES") // go test keeps the result while no Go file changes, see internal/checkout
	list := func(folder string, packages ...string) []string {
		t.Helper()
		command := exec.CommandContext(t.Context(), "go", append([]string{"list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}"},
			packages...)...)
		command.Dir = folder
		printed, err := command.Output()
		if err != nil {
			t.Fatalf("go list in %s: %v", folder, err)
		}
		out := strings.Fields(string(printed))
		slices.Sort(out)
		return slices.Compact(out)
	}
	const repository = "github.com/berth-project/berth/"
	allowed := append(list("../api", "./..."), repository+"decision", repository+"rollout")
	for _, folder := range []string{".", "../rollout"} {
		for _, module := range list(folder, "./...") {
			if !slices.Contains(allowed, module) {
				t.Errorf("%s depends on %s, and api does not", folder, module)
			}
		}
	}
}
