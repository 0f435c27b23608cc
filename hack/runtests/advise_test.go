package main

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// advising returns hack/advise with a command and further variables.
func advising(t *testing.T, variables []string, args ...string) *exec.Cmd {
	t.Helper()
	root, err := findRoot()
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(root, "hack", "advise")
	if _, err := os.ReadFile(script); err != nil { // so that a kept result depends on it
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), script, args...)
	command.Dir, command.Env = root, append(os.Environ(), variables...)
	return command
}

// advise runs hack/advise with a command and further variables.
func advise(t *testing.T, variables []string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	command := advising(t, variables, args...)
	var out, problems bytes.Buffer
	command.Stdout, command.Stderr = &out, &problems
	err := command.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), problems.String(), command.ProcessState.ExitCode()
}

// TestAMachineThatLacksSomethingIsToldWhat: one sentence replaces what a command prints about a machine that lacks something.
func TestAMachineThatLacksSomethingIsToldWhat(t *testing.T) {
	for name, c := range map[string]struct {
		prints, want string
	}{
		"the network": {
			prints: "go: a: Get \"https://b\": dial tcp: lookup b: no such host\nmore",
			want: "sh: something that the first run needs could not be fetched: connect this machine to the network, or set GOPROXY to a " +
				"proxy that it reaches, and run this again: go: a: Get \"https://b\": dial tcp: lookup b: no such host\n",
		},
		"a disk that has filled up": {
			prints: "write x: no space left on device\npanic: y\n\ngoroutine 1 [running]:",
			want:   "sh: a disk is full: free some space, such as with `go clean -cache`, and run this again: write x: no space left on device\n",
		},
		"a C compiler": {
			prints: "cgo: C compiler \"gcc\" not found: exec: \"gcc\": executable file not found in $PATH",
			want:   "sh: there is no C compiler: install gcc, and run this again\n",
		},
		"nothing": {prints: "a.go:1:1: syntax error\nb.go:1:1: syntax error", want: "a.go:1:1: syntax error\nb.go:1:1: syntax error\n"},
	} {
		t.Run(name, func(t *testing.T) {
			stdout, stderr, code := advise(t, []string{"PRINTS=" + c.prints}, "sh", "-c", `echo result; echo "$PRINTS" >&2; exit 3`)
			if diff := cmp.Diff(c.want, stderr); diff != "" || stdout != "result\n" || code != 3 {
				t.Errorf("exit code %d, stdout %q, stderr (-want +got):\n%s", code, stdout, diff)
			}
			stdout, stderr, code = advise(t, []string{"PRINTS=" + c.prints}, "sh", "-c", `echo result; echo "$PRINTS" >&2`)
			if diff := cmp.Diff(c.prints+"\n", stderr); diff != "" || stdout != "result\n" || code != 0 {
				t.Errorf("of a command that succeeds: exit code %d, stdout %q, stderr (-want +got):\n%s", code, stdout, diff)
			}
		})
	}
}

// TestAFirstBuildWithoutTheNetwork builds with no module at hand.
func TestAFirstBuildWithoutTheNetwork(t *testing.T) {
	variables := []string{"GOMODCACHE=" + t.TempDir(), "GOPROXY=off", "GOFLAGS=-modcacherw"}
	_, stderr, code := advise(t, variables, "go", "build", "-o", os.DevNull, "./hack/runtests")
	const want = "go: something that the first run needs could not be fetched"
	if code == 0 || strings.Count(stderr, "\n") != 1 || !strings.HasPrefix(stderr, want) {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// TestAStoppedCommandEnds: a signal to make stops what it runs too.
func TestAStoppedCommandEnds(t *testing.T) {
	const wait = `trap "echo stopped; exit 4" INT TERM; echo started; for i in $(seq 600); do sleep 0.1; done`
	for _, stop := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(stop.String(), func(t *testing.T) {
			notified := make(chan os.Signal, 1) // a shell traps no signal that is ignored when it starts, such as below nohup
			signal.Notify(notified, stop)
			defer signal.Stop(notified)
			command := advising(t, nil, "bash", "-c", wait)
			stdout, err := command.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := command.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewScanner(stdout)
			lines.Scan() // it has its trap
			if err := command.Process.Signal(stop); err != nil {
				t.Fatal(err)
			}
			lines.Scan()
			if err := command.Wait(); command.ProcessState.ExitCode() != 4 || lines.Text() != "stopped" {
				t.Errorf("the command ends with %v after %q, want exit code 4 after \"stopped\"", err, lines.Text())
			}
		})
	}
}
