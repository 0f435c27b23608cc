// Package install tests how Berth is put on a hub and taken off it, with the binaries that a user has.
//
// The tests of removal change the hub for all, so each starts its own.
package install

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// shared is the hub of the tests that change nothing for others.
var shared *hubtest.Hub

const configMap = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"default","name":"settings"}}`

func TestMain(m *testing.M) { os.Exit(hubtest.Main(m, &shared, hubtest.Options{})) }

// run runs a binary as the administrator of a hub, and returns its output.
func run(ctx context.Context, t *testing.T, hub *hubtest.Hub, program func() (string, error), args ...string) (string, error) {
	t.Helper()
	binary := kit.Must(program()).In(t)
	command := exec.CommandContext(ctx, binary, args...)
	command.Env = append(os.Environ(), "KUBECONFIG="+hub.Kubeconfig())
	output, err := command.CombinedOutput()
	return string(output), err
}

func manager() (string, error) { return hubtest.ManagerBinary() }

// mustRun is run for a command that must succeed.
func mustRun(t *testing.T, hub *hubtest.Hub, program func() (string, error), args ...string) string {
	t.Helper()
	output, err := run(t.Context(), t, hub, program, args...)
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, output)
	}
	return output
}
