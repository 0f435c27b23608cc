package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/berth-project/berth/internal/checkout"
)

const (
	servicePage = "docs/operations/hub-service.md"
	// installed is where the units of the page have the program.
	installed = "/usr/local/bin/berth-hub"
)

// units returns the units of systemd on the page, by the names of their files.
func units(t *testing.T) map[string]string {
	t.Helper()
	page, err := os.ReadFile(checkout.Path(t, servicePage))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, found := range regexp.MustCompile("(?s)`/etc/systemd/system/([a-z.-]+)`[^`]*```ini\n(.*?)```").FindAllStringSubmatch(string(page),
		-1) {
		out[found[1]] = found[2]
	}
	if len(out) != 3 {
		t.Fatalf("the page has the units %v", out)
	}
	return out
}

// TestTheUnitsOfThePageAreValid checks the syntax of each unit, with systemd where it is installed.
func TestTheUnitsOfThePageAreValid(t *testing.T) {
	folder := t.TempDir()
	program := filepath.Join(folder, "berth-hub")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	section, setting := regexp.MustCompile(`^\[(Unit|Service|Timer|Install)\]$`), regexp.MustCompile(`^[A-Z][A-Za-z]+=`)
	args := []string{"verify", "--man=no"}
	for name, unit := range units(t) {
		for line := range strings.Lines(unit) {
			if line := strings.TrimSpace(line); line != "" && !section.MatchString(line) && !setting.MatchString(line) {
				t.Errorf("%s: %q is neither a section nor a setting", name, line)
			}
		}
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(unit, installed, program)), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, path)
	}
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Log("NOT TESTED with systemd, which is not installed")
		return
	}
	command := exec.CommandContext(t.Context(), analyze, args...)
	command.Env = append(os.Environ(), "SYSTEMD_LOG_LEVEL=warning")
	if printed, err := command.CombinedOutput(); err != nil || bytes.Contains(printed, []byte(folder)) {
		t.Errorf("systemd-analyze %v: %v: %s", args, err, printed)
	}
}

// TestTheCommandsOfTheUnitsExist parses the flags in the units as the program does.
func TestTheCommandsOfTheUnitsExist(t *testing.T) {
	for name, unit := range units(t) {
		for _, found := range regexp.MustCompile(installed+` ([^\n']*)`).FindAllStringSubmatch(unit, -1) {
			command, args, err := Command(Config{}).Find(strings.Fields(found[1]))
			if err != nil {
				t.Fatal(err)
			}
			if err := command.ParseFlags(args); err != nil {
				t.Errorf("%s: %s: %v", name, found[0], err)
			}
			if strings.HasPrefix(found[1], "backup ") != (command.Name() == "backup") {
				t.Errorf("%s: %s is the command %s", name, found[0], command.Name())
			}
		}
	}
}
