package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestATestIsLinkedOnce runs the tests of a package again and again, with a folder of links.
func TestATestIsLinkedOnce(t *testing.T) {
	tool := filepath.Join(t.TempDir(), "linkcache")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", tool, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	module, links := t.TempDir(), t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(module, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(want string) {
		t.Helper()
		command := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-v", "-toolexec="+tool, ".")
		command.Dir, command.Env = module, append(os.Environ(), folderVariable+"="+links, "GOWORK=off", "GOFLAGS=-trimpath")
		out, err := command.CombinedOutput()
		if err != nil || !strings.Contains(string(out), want) {
			t.Fatalf("%v, without %q:\n%s", err, want, out)
		}
	}
	kept := func() []string {
		t.Helper()
		out, err := filepath.Glob(filepath.Join(links, "*"))
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	write("go.mod", "module example.com/linked\n\ngo 1.26\n")
	write("linked.go", "package linked\n\nconst word = \"first\"\n")
	write("linked_test.go", "package linked\n\nimport \"testing\"\n\nfunc TestWord(t *testing.T) { t.Log(word) }\n")
	run("first")
	first := kept()
	if len(first) != 1 {
		t.Fatalf("kept after a run: %v", first)
	}

	write("linked.go", "package linked\n\nconst word = \"second\"\n")
	run("second")
	if n := len(kept()); n != 2 {
		t.Fatalf("a changed package is linked anew; %d are kept", n)
	}

	t.Log("what is kept runs instead of a new link")
	write("linked.go", "package linked\n\nconst word = \"first\"\n")
	planted := filepath.Join(t.TempDir(), "planted")
	if err := errors.Join(os.WriteFile(planted, []byte("#!/bin/sh\necho planted\n"), 0o600), pack(planted, first[0])); err != nil {
		t.Fatal(err)
	}
	run("planted")

	t.Log("a link that fails is not kept, and says why")
	write("linked.go", "package linked\n\nconst word = \"third\"\n\nfunc missing()\n\nfunc init() { missing() }\n")
	write("empty.s", "")
	command := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-toolexec="+tool, ".")
	command.Dir, command.Env = module, append(os.Environ(), folderVariable+"="+links, "GOWORK=off", "GOFLAGS=-trimpath")
	out, err := command.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "missing") {
		t.Errorf("%v: %s", err, out)
	}
	if n := len(kept()); n != 2 {
		t.Errorf("kept after a failed link: %d", n)
	}
}
