// Package plant builds tests with a defect in the code under test, to see that they fail.
package plant

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Defect is a rule that a change of one file breaks.
type Defect struct {
	// File is the path from the root of the module, with slashes.
	File string
	// Old is text that the file has once. New takes its place.
	Old, New string
}

// Root is the folder of the module, as seen from the package of the test.
type Root string

// Run runs a test of the calling package with the defect in place, and returns what it printed. The error is that of the go command.
func (r Root) Run(t *testing.T, of Defect, test string, arguments ...string) (printed string, err error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", append([]string{ //nolint:gosec // tests give the arguments
		"test", "-overlay=" + r.overlay(t, of), "-vet=off", "-run=^" + test + "$", ".", "-args",
	}, arguments...)...)
	out, err := command.CombinedOutput()
	return string(out), err //nolint:wrapcheck // the caller prints it with the output
}

// Check fails the test for each defect that its file has no place for any more. It is cheap: who changes the file sees it at once, and not
// when the defect is planted.
func (r Root) Check(t *testing.T, defects map[string]Defect) {
	t.Helper()
	for rule, of := range defects {
		if _, err := r.planted(of); err != nil {
			t.Errorf("%s: %v", rule, err)
		}
	}
}

// planted returns the text of the file with the defect.
func (r Root) planted(of Defect) (string, error) {
	before, err := os.ReadFile(r.path(of))
	if err != nil {
		return "", err //nolint:wrapcheck // it names the file
	}
	if found := strings.Count(string(before), of.Old); found != 1 {
		return "", fmt.Errorf("%s has %q %d times: plant something else", of.File, of.Old, found)
	}
	return strings.Replace(string(before), of.Old, of.New, 1), nil
}

// path returns the path of the file from the package of the test.
func (r Root) path(of Defect) string { return filepath.Join(string(r), filepath.FromSlash(of.File)) }

// overlay returns a file for -overlay with the defect in place.
func (r Root) overlay(t *testing.T, of Defect) string {
	t.Helper()
	path, err := filepath.Abs(r.path(of))
	if err != nil {
		t.Fatal(err)
	}
	after, err := r.planted(of)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	changed, replaced := filepath.Join(folder, filepath.Base(path)), filepath.Join(folder, "overlay.json")
	text, err := json.Marshal(map[string]map[string]string{"Replace": {path: changed}})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{changed: []byte(after), replaced: text} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return replaced
}
