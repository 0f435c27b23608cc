package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestNoTestReachesOutOfItsModuleUnseen reads the paths in test files: go test keeps a result while a file of another module changes,
// unless the test reads the variable of internal/checkout that stands for the file. Slow tests are never kept.
func TestNoTestReachesOutOfItsModuleUnseen(t *testing.T) {
	root, err := findRoot()
	if err != nil {
		t.Fatal(err)
	}
	modules, err := findModules(root)
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	err = walk(root, func(name string) error {
		ofKit := strings.HasPrefix(name, "hub/hubtest/") && strings.HasSuffix(name, ".go")
		if !strings.HasSuffix(name, "_test.go") && !ofKit {
			return nil
		}
		checked++
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil || strings.HasPrefix(string(text), "//go:build") || strings.Contains(string(text), `os.Getenv("BERTH_AREA_`) {
			return err
		}
		module := moduleOf(modules, path.Dir(name))
		for _, reached := range paths(t, string(text)) {
			if target := path.Join(path.Dir(name), reached); !contains(module, target) {
				t.Errorf("%s reads %s, which is outside of its module: use internal/checkout", name, target)
			}
		}
		return nil
	})
	if err != nil || checked < 100 {
		t.Fatalf("%d files, %v", checked, err)
	}
}

// paths returns the relative paths with leading ".." in the literals of a file, and in the arguments of filepath.Join.
func paths(t *testing.T, text string) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "", text, 0)
	if err != nil {
		t.Fatal(err)
	}
	literal := func(node ast.Expr) string {
		if basic, is := node.(*ast.BasicLit); is && basic.Kind == token.STRING {
			if value, err := strconv.Unquote(basic.Value); err == nil {
				return value
			}
		}
		return ""
	}
	var out []string
	ast.Inspect(file, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.BasicLit:
			if value := literal(node); strings.HasPrefix(value, "../") {
				out = append(out, value)
			}
		case *ast.CallExpr:
			var parts []string
			for _, argument := range node.Args {
				if value := literal(argument); value == ".." || len(parts) > 0 && value != "" {
					parts = append(parts, value)
				}
			}
			if len(parts) > 0 {
				out = append(out, path.Join(parts...))
			}
		}
		return true
	})
	return out
}

// TestEveryUnitIsInOneShard divides units of any length.
func TestEveryUnitIsInOneShard(t *testing.T) {
	var all []unit
	for i, seconds := range []float64{400, 1, 30, 30, 30, 250, 90, 7, 7, 7, 120} {
		all = append(all, unit{of: testPackage{folder: "p"}, test: "Test" + strconv.Itoa(i), seconds: seconds})
	}
	var got []string
	for number := 1; number <= 3; number++ {
		for _, u := range (shard{number, 3}).part(all) {
			got = append(got, u.name())
		}
	}
	var want []string
	for _, u := range all {
		want = append(want, u.name())
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("units of all shards (-want +got):\n%s", diff)
	}
}

// TestShards reads the flag.
func TestShards(t *testing.T) {
	for text, want := range map[string]shard{"": {}, "1/1": {1, 1}, "8/8": {8, 8}} {
		if got, err := parseShard(text); err != nil || got != want {
			t.Errorf("%q is %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"0/8", "9/8", "a/8", "1", "1/", "/", "-1/8"} {
		if _, err := parseShard(text); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("the shard %q: %v", text, err)
		}
	}
}

// TestPackagesAreFound looks at this repository: its packages are in the right module, and slow tests are not among the others.
func TestPackagesAreFound(t *testing.T) {
	root, err := findRoot()
	if err != nil {
		t.Fatal(err)
	}
	packages, err := findPackages(root)
	if err != nil {
		t.Fatal(err)
	}
	at := func(folder string) testPackage {
		i := slices.IndexFunc(packages, func(p testPackage) bool { return p.folder == folder })
		if i < 0 {
			t.Fatalf("no package %s", folder)
		}
		return packages[i]
	}
	if p := at("engine"); p.module != "." || !p.fast || p.pattern() != "./engine" {
		t.Errorf("engine is %+v", p)
	}
	if p := at("hub/integration/attack"); p.module != "hub" || !p.fast || len(p.slow) == 0 || p.pattern() != "./integration/attack" {
		t.Errorf("hub/integration/attack is %+v", p)
	}
	if p := at("hub/integration/node"); p.fast || len(p.slow) == 0 {
		t.Errorf("hub/integration/node is %+v", p)
	}
	if _, err := chosen(packages, []string{"engine", "no/such/folder"}); err == nil {
		t.Error("a folder without tests was accepted")
	}
	if err := requireFast(packages, []string{"./hub/integration/node/", "engine"}); err == nil || !strings.Contains(err.Error(), "make slow") {
		t.Errorf("a package with slow tests only: %v", err)
	}
	if err := requireFast(packages, []string{"hub/integration/...", "engine"}); err != nil {
		t.Error(err)
	}
	below, err := chosen(packages, []string{"hub/integration/..."})
	if err != nil || len(below) < 20 || slices.ContainsFunc(below, func(p testPackage) bool { return p.module != "hub" }) {
		t.Errorf("hub/integration/... is %d packages, %v", len(below), err)
	}
}

// TestAModuleThatRunsAloneHasBothCores: beside hub, the other modules run one test binary at a time.
func TestAModuleThatRunsAloneHasBothCores(t *testing.T) {
	engine := testPackage{module: ".", folder: "engine", fast: true}
	join := testPackage{module: "hub", folder: "hub/integration/join", fast: true}
	for name, c := range map[string]struct {
		packages []testPackage
		want     map[string]int
	}{
		"alone":      {packages: []testPackage{engine}, want: map[string]int{".": 2}},
		"beside hub": {packages: []testPackage{engine, join}, want: map[string]int{".": 1, "hub": 4}},
	} {
		got := map[string]int{}
		for _, run := range fastRuns(c.packages, options{}, nil) {
			got[run.module] = run.parallel
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: test binaries at a time (-want +got):\n%s", name, diff)
		}
	}
}
