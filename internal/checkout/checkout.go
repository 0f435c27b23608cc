// Package checkout gives tests what they use of this checkout beyond their own module: files, and the programs under test.
//
// go test keeps the result of a test binary, and reuses it while the files of its module and the environment variables that it read are the
// same. It does not see files of other folders, nor what a child process reads. So `make test` puts the digest of each area and of each
// program into a variable of its own, and this package reads the variable of what it returns: a kept result then stands for these bytes.
// The invariant: a test has no other way to a file outside of its module, or to a program that it runs.
package checkout

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// RootVariable names the folder of the checkout.
const RootVariable = "BERTH_CHECKOUT"

// Areas are the files and folders outside of a module that tests use, with a slash. A path belongs to the longest area that contains it. An
// area that is part of another has its own digest, which the other includes.
func Areas() []string {
	return []string{
		"README.md", "charts", "config", "config/crd", "config/probe", "docs", "docs/how-to", "docs/operations", "examples", "examples/demo",
		"examples/how-to",
		"go.mod", "hack/crdtest/testdata", "hub/go.mod", "hub/integration/upgrade/testdata", "kustomize",
	}
}

// Sources stand for all Go files of the checkout. Tests that list imports by the go command depend on them.
const Sources = "sources"

// Variable returns the name of the variable with the digest of an area or with the path of a program.
func Variable(kind, name string) string {
	letters := func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}
	return "BERTH_" + kind + "_" + strings.ToUpper(strings.Map(letters, name))
}

// The kinds of variables.
const (
	AreaKind    = "AREA"
	ProgramKind = "PROGRAM"
)

// Path returns the absolute path of a file or folder, given from the root of the checkout and with slashes. The test fails unless an area
// contains it.
func Path(t testing.TB, path string) string {
	t.Helper()
	out, err := Find(path)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Find is Path for a caller without a test.
func Find(path string) (string, error) {
	area := areaOf(path)
	if area == "" {
		return "", fmt.Errorf("no area of internal/checkout contains %s: add one, so that a changed file runs this test again", path)
	}
	if _, err := lookUp(Variable(AreaKind, area)); err != nil {
		return "", err
	}
	root, err := lookUp(RootVariable)
	return filepath.Join(root, filepath.FromSlash(path)), err
}

// areaOf returns the longest area that contains a path, or "".
func areaOf(path string) string {
	var out string
	for _, area := range Areas() {
		if (path == area || strings.HasPrefix(path, area+"/")) && len(area) > len(out) {
			out = area
		}
	}
	return out
}

// RequireSources makes the result of a test depend on every Go file of the checkout.
func RequireSources(t testing.TB) {
	t.Helper()
	if _, err := lookUp(Variable(AreaKind, Sources)); err != nil {
		t.Fatal(err)
	}
}

// Root returns the folder of the checkout. Use it for a file only where no result depends on the content.
func Root(t testing.TB) string {
	t.Helper()
	root, err := lookUp(RootVariable)
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// Program returns the absolute path of a program under test, by the name of its file.
func Program(name string) (string, error) { return lookUp(Variable(ProgramKind, name)) }

// lookedUp has the names of the variables that this process has read.
var lookedUp sync.Map //nolint:gochecknoglobals // go test keeps its record for the process too

// Again reads the variables again that this process has read. go test records what tests read, and nothing that TestMain reads before it
// runs them: what TestMain has started for the tests of a package calls Again in what every test needs of it.
func Again() {
	lookedUp.Range(func(variable, _ any) bool {
		name, is := variable.(string)
		_ = os.Getenv(name)
		return is
	})
}

func lookUp(variable string) (string, error) {
	lookedUp.Store(variable, nil)
	value := os.Getenv(variable)
	if value == "" {
		return "", fmt.Errorf("%s is not set: run tests by `make test PKGS=FOLDER`, or run `eval \"$(make -s test-env)\"` before `go test`",
			variable)
	}
	return value, nil
}
