// Package examples applies every scenario of the folder examples to a real hub with Berth's manager, and compares the decisions
// with the expected files. After an intended change, `go test ./integration/examples -update` writes the files again. Commit
// only the differences that you can explain.
package examples

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/internal/scenario"
)

var (
	update = flag.Bool("update", false, "write the expected files anew")
	shared *hubtest.Hub
)

// root is the folder examples, from here.
const root = "../../../examples"

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(hubtest.Main(m, &shared, hubtest.Options{Manager: true, TaintUnjoined: true}))
}

// otherFolders are the folders without such scenarios: how-to is for pages, scenarios and simulate are for offline commands,
// and tenancy is for TestStories.
var otherFolders = []string{"how-to", "scenarios", "simulate", "tenancy"}

// TestExamples walks the folders.
func TestExamples(t *testing.T) {
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	played := 0
	for _, entry := range entries {
		if !entry.IsDir() || slices.Contains(otherFolders, entry.Name()) {
			continue
		}
		played++
		t.Run(entry.Name(), func(t *testing.T) { applyScenario(t, filepath.Join(root, entry.Name())) })
	}
	if played == 0 {
		t.Errorf("no scenario in %s", root)
	}
}

// applyScenario applies the steps of a scenario one after the other, each to what the step before has left, and cleans up.
func applyScenario(t *testing.T, folder string) {
	hub, err := scenario.Connect(shared.Config(), clock.RealClock{})
	if err != nil {
		t.Fatal(err)
	}
	steps, err := scenario.Read(os.DirFS(folder))
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range steps {
		if err := hub.Apply(t.Context(), step); err != nil {
			t.Errorf("step %s: %v", step.Folder, err)
			break
		}
		fleet, err := hub.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		compare(t, filepath.Join(folder, step.Folder, scenario.ExpectedFile), fleet.Text())
	}
	if err := hub.DeleteAll(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func compare(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}
