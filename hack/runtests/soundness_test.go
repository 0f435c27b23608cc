//go:build slow

package main

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// defect is a fault that is planted in a copy of the repository.
type defect struct {
	// file has the text old, which becomes new. An empty old appends.
	file, old, new string
	// fails are the packages that must fail. Packages in again run again and pass, since they use the same program. All others are kept.
	fails, again []string
	// slow is true for a slow test. Its result is never kept.
	slow bool
}

// chosenTests are packages and tests, and defects that are planted one after the other.
type chosenTests struct {
	packages []string
	// tests is the pattern of their tests.
	tests   string
	defects map[string]defect
}

const (
	setTests   = "hub/integration/tenancy"
	unjoined   = "hub/integration/registration"
	workTests  = "hub/integration/workadmission"
	usageTests = "hub/integration/usage"
	installed  = "hub/integration/install"
	pages      = "hub/integration/howto"
)

// TestAPanicOfAControllerIsFound plants a panic in a controller.
func TestAPanicOfAControllerIsFound(t *testing.T) {
	playController(t, map[string]defect{
		"a panic in a controller": {
			file: "internal/membership/health/controller.go", new: "\nfunc init() { panic(\"planted\") }\n", fails: []string{unjoined, setTests},
		},
	})
}

// TestADroppedWriteOfAControllerIsFound plants a defect in what a controller writes.
func TestADroppedWriteOfAControllerIsFound(t *testing.T) {
	playController(t, map[string]defect{
		"a dropped write of a controller": {
			file: "internal/membership/set/controller.go", old: "if err := r.client.Status().Patch(ctx, next, patch); err != nil {",
			new:   "if err := error(nil); err != nil && r.client.Status().Patch(ctx, next, patch) != nil {",
			fails: []string{setTests}, again: []string{unjoined},
		},
	})
}

func playController(t *testing.T, defects map[string]defect) {
	t.Helper()
	play(t, chosenTests{
		packages: []string{"engine/internal/filter", unjoined, setTests}, tests: "^(TestTaints|TestASimulatedCluster|TestMembersAreCounted)$",
		defects: defects,
	})
}

// TestDefectsOfWebhooksAreFound plants a defect in a webhook.
func TestDefectsOfWebhooksAreFound(t *testing.T) {
	play(t, chosenTests{
		packages: []string{"engine/internal/filter", unjoined, workTests},
		tests:    "^(TestTaints|TestASimulatedCluster|TestVector38EditorOfManifestsNeedsExecuteAs)$",
		defects: map[string]defect{
			"an inverted condition in a webhook": {
				file: "internal/admission/work/executor.go", old: "if err != nil || held {", new: "if err != nil || !held {",
				fails: []string{workTests}, again: []string{unjoined},
			},
		},
	})
}

// TestDefectsOfTheAgentAndTheCommandsAreFound plants defects in the agent and in kubectl-berth.
func TestDefectsOfTheAgentAndTheCommandsAreFound(t *testing.T) {
	play(t, chosenTests{
		packages: []string{unjoined, usageTests, installed},
		tests:    "^(TestASimulatedCluster|TestAPlacementFollowsTheUsage|TestGatherCollectsNoSecret)$",
		defects: map[string]defect{
			"a panic in the agent": {
				file: "internal/agent/usage/reporter.go", new: "\nfunc init() { panic(\"planted\") }\n", fails: []string{usageTests},
			},
			"another text of a command": {
				file: "internal/cli/gather/command.go", old: " written", new: " stored", fails: []string{installed},
				again: []string{usageTests}, // berth-hub has it too
			},
		},
	})
}

// TestDefectsOfPagesAreFound plants a defect in a page, and one in the engine, which the programs of pages have.
func TestDefectsOfPagesAreFound(t *testing.T) {
	play(t, chosenTests{
		packages: []string{"engine/internal/filter", "hack/crdtest", pages},
		tests:    "^(TestTaints|TestAdmission|TestHowTos)$/^(why-not-selected|a_placement_with_a_negative_number_of_clusters|NoSelectIfNew.*)$",
		defects: map[string]defect{
			"an inverted condition in the engine": {
				file: "engine/internal/filter/taint.go", old: "if *toleration.Seconds <= 0 {", new: "if *toleration.Seconds > 0 {",
				fails: []string{"engine/internal/filter"}, again: []string{pages},
			},
			"another output on a page": {
				file: "docs/how-to/why-not-selected.md", old: "The cut is us-1: rank 3", new: "The cut is us-1: rank 4", fails: []string{pages},
			},
		},
	})
}

// TestDefectsOfDefinitionsAndChartsAreFound plants defects in a definition and a chart.
func TestDefectsOfDefinitionsAndChartsAreFound(t *testing.T) {
	play(t, chosenTests{
		packages: []string{"engine/internal/filter", "hack/crdtest"},
		tests:    "^(TestTaints|TestAdmission)$/^(a_placement_with_a_negative_number_of_clusters|NoSelectIfNew.*)$",
		defects: map[string]defect{
			"another bound in a definition": {
				file: "config/crd/cluster.open-cluster-management.io_placements.yaml", old: "minimum: 0", new: "minimum: -5",
				fails: []string{"hack/crdtest"},
			},
			"another port in a chart": {
				file: "charts/berth/templates/service.yaml", old: "port: 443, targetPort: webhooks", new: "port: 444, targetPort: webhooks",
				fails: []string{installed}, slow: true,
			},
		},
	})
}

// play copies the repository, runs the tests, and plants the defects. The results of packages that use nothing of a defect are kept.
func play(t *testing.T, of chosenTests) {
	t.Helper()
	tree := copyTree(t)
	first := runTests(t, tree, of)
	for _, name := range of.packages {
		if first[name] == "FAIL" || first[name] == "" {
			t.Fatalf("without a defect: %v", first)
		}
	}
	for name, planted := range of.defects {
		t.Run(name, func(t *testing.T) {
			if planted.slow {
				checkSlow(t, tree, planted)
				return
			}
			defer plant(t, tree, planted)()
			got := runTests(t, tree, of)
			for _, name := range of.packages {
				want := "kept"
				switch {
				case slices.Contains(planted.fails, name):
					want = "FAIL"
				case slices.Contains(planted.again, name):
					want = "ok"
				}
				if got[name] != want {
					t.Errorf("%s: %s, want %s", name, got[name], want)
				}
			}
		})
	}
}

// checkSlow runs a slow test without the defect and with it.
func checkSlow(t *testing.T, tree string, planted defect) {
	t.Helper()
	name := planted.fails[0]
	if got := runSlow(t, tree, name); got[name+slowSuffix] != "ok" {
		t.Fatalf("without the defect: %v", got)
	}
	defer plant(t, tree, planted)()
	if got := runSlow(t, tree, name); got[name+slowSuffix] != "FAIL" {
		t.Errorf("not found: %v", got)
	}
}

// copyTree copies the files of the repository that git has or would add, with their times. Built programs of other projects are linked.
func copyTree(t *testing.T) string {
	t.Helper()
	root, err := findRoot()
	if err != nil {
		t.Fatal(err)
	}
	to := t.TempDir()
	command := exec.CommandContext(t.Context(), "sh", "-c",
		`git ls-files -z --cached --others --exclude-standard | tar -c --null -T - | tar -x -C "$0"`, to)
	command.Dir = root
	if printed, err := command.CombinedOutput(); err != nil {
		t.Fatalf("copying the repository: %v: %s", err, printed)
	}
	if err := os.Mkdir(filepath.Join(to, "bin"), folderMode); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(root, "bin", "helm"), filepath.Join(to, "bin", "helm")); err != nil {
		t.Fatal(err)
	}
	return to
}

// plant changes a file, and returns a function that restores it with its time.
func plant(t *testing.T, tree string, of defect) (restore func()) {
	t.Helper()
	path := filepath.Join(tree, filepath.FromSlash(of.file))
	before, err := os.ReadFile(path)
	var info fs.FileInfo
	if err == nil {
		info, err = os.Stat(path)
	}
	if err != nil {
		t.Fatal(err)
	}
	after := string(before) + of.new
	if of.old != "" {
		if !strings.Contains(string(before), of.old) {
			t.Fatalf("%s has no %q: plant something else", of.file, of.old)
		}
		after = strings.ReplaceAll(string(before), of.old, of.new)
	}
	if err := os.WriteFile(path, []byte(after), info.Mode()); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := os.WriteFile(path, before, info.Mode()); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
			t.Fatal(err)
		}
	}
}

// runTests runs the ordinary command, and returns "ok", "kept" or "FAIL" for each package.
func runTests(t *testing.T, tree string, of chosenTests) map[string]string {
	t.Helper()
	return results(t, tree, "make", "test", "PKGS="+strings.Join(of.packages, " "), "RUN="+strings.ReplaceAll(of.tests, "$", "$$"))
}

func runSlow(t *testing.T, tree, name string) map[string]string {
	t.Helper()
	return results(t, tree, "make", "slow", "PKGS="+name, "RUN=TestTheOverlayForAClusterIsTheChart")
}

var resultLine = regexp.MustCompile(`(?m)^(ok|FAIL)\t(\S+(?: slow)?)\t(\S+)$`)

func results(t *testing.T, tree, program string, args ...string) map[string]string {
	t.Helper()
	command := exec.CommandContext(context.WithoutCancel(t.Context()), program, args...)
	command.Dir = tree
	printed, err := command.CombinedOutput()
	out := map[string]string{}
	for _, line := range resultLine.FindAllStringSubmatch(string(printed), -1) {
		out[line[2]] = line[1]
		if line[3] == "(cached)" {
			out[line[2]] = "kept"
		}
	}
	if len(out) == 0 || (err != nil) != slices.Contains(values(out), "FAIL") {
		t.Fatalf("%s %v: %v\n%s", program, args, err, lastBytes(printed))
	}
	return out
}

func values(of map[string]string) []string {
	var out []string
	for _, value := range of {
		out = append(out, value)
	}
	return out
}
