//go:build slow

package main

import (
	"os/exec"
	"strings"
	"testing"
)

// TestAFullDiskIsNamed runs a test and a demo whose folders are on a full disk. It mounts one in a namespace of its own, as root.
func TestAFullDiskIsNamed(t *testing.T) {
	root, err := findRoot()
	if err != nil {
		t.Fatal(err)
	}
	for name, command := range map[string]string{
		"temporary files": `TMPDIR="$0" make test PKGS=engine/plan FLAGS=-count=1`,
		"the build cache": `GOCACHE="$0" make demo`,
	} {
		folder := t.TempDir()
		script := `mount -t tmpfs -o size=2m tmpfs "$0" && (cat /dev/zero > "$0/filler" 2> /dev/null || :) && ` + command
		run := exec.CommandContext(t.Context(), "unshare", "--mount", "sh", "-c", script, folder)
		run.Dir = root
		printed, err := run.CombinedOutput()
		want := "go: the disk of " + folder + " is full: free some space there"
		if err == nil || !strings.Contains(string(printed), want) || strings.Contains(string(printed), "goroutine") {
			t.Errorf("%s: %v: %s", name, err, printed)
		}
	}
}
