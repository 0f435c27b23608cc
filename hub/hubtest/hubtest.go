// Package hubtest runs a real hub for tests: etcd, the API server and its controllers, in a child process.
//
// It owns that process and its data, and does not depend on the tests. A manager is another child process (see StartManager),
// so that a test can kill it without harm to the API server. The invariant: no hub and no manager outlives its test binary. A hub
// ends when its standard input closes, which happens in every end of the test binary.
//
// Most tests of a package should share one hub, which starts in three seconds:
//
//	var shared *hubtest.Hub
//
//	func TestMain(m *testing.M) { os.Exit(hubtest.Main(m, &shared, hubtest.Options{})) }
//
// They use different namespaces. A test that stops or breaks a hub starts its own hub with New.
package hubtest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/berth-project/berth/internal/checkout"
	"github.com/berth-project/berth/internal/kube/process"
)

const (
	startTimeout = 2 * time.Minute
	// readyLine begins the line that berth-hub prints when it is ready.
	readyLine = "export KUBECONFIG="
)

var errStopTimeout = errors.New("still running, so it was killed")

// Options configures a test's hub. The zero value is a hub with Berth's own
// resource definitions, no manager, and a temporary data folder.
type Options struct {
	// Manifests are applied at the start, after Berth's own.
	Manifests fs.FS
	// Folders are further manifests, each with a name that begins the names of its files.
	Folders map[string]fs.FS
	// DataDir keeps the data over several hubs. Empty means a temporary folder.
	DataDir string
	// Manager runs Berth's manager within the hub, which is the default of berth-hub.
	Manager bool
	// TaintUnjoined taints clusters that never joined, which is the default of berth-hub. Without it a test may select clusters
	// that have no agent.
	TaintUnjoined bool
	// Protected refuses to delete accepted clusters and their namespaces, which is the default of berth-hub. Without it a test may tidy up.
	Protected bool
	// Member are the flags of a member, a cluster with nodes and an agent, that runs in place of a hub. nil is a hub.
	Member []string
	// Args are further flags of berth-hub.
	Args []string
}

// Hub is a running hub process.
type Hub struct {
	process    *process.Process
	kubeconfig string
	config     *rest.Config
	// temporary is a data folder that is removed at the end; empty for a folder of the caller.
	temporary string
}

// Main runs the tests of a package with one hub for all of them and returns the
// exit code for TestMain.
func Main(m *testing.M, shared **Hub, opts Options) int {
	return Shared{Hub: shared, Options: opts}.Run(m.Run)
}

// MainWithMember is Main with a member, which starts before the hub.
func MainWithMember(m *testing.M, hub, member Shared) int {
	return member.Run(func() int { return hub.Run(m.Run) })
}

// Shared is a hub of all tests of a package.
type Shared struct {
	// Hub is set while the tests run.
	Hub **Hub
	// Options configures it.
	Options Options
}

// Run starts the hub, calls a function and stops the hub. It returns the exit code of the function, or of a failed start or stop.
func (s Shared) Run(run func() int) int {
	ctx := context.Background() //nolint:forbidigo // TestMain is where contexts begin
	hub, err := Start(ctx, s.Options)
	if err != nil {
		fmt.Fprintln(os.Stderr, "hubtest:", err)
		return 1
	}
	*s.Hub = hub
	code := run()
	if err := (*s.Hub).Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "hubtest:", err)
		return 1
	}
	return code
}

// New starts a hub for one test and stops it when the test is over.
func New(t testing.TB, opts Options) *Hub {
	t.Helper()
	hub, err := Start(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := hub.Stop(); err != nil {
			t.Error(err)
		}
	})
	return hub
}

// Start starts a hub and returns when it is ready. The hub runs until Stop, also after the end of ctx. If the process ends before it is
// ready, the error contains its output.
func Start(ctx context.Context, opts Options) (*Hub, error) {
	binary, err := opts.binary()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	hub := &Hub{}
	if opts.DataDir == "" {
		if hub.temporary, err = os.MkdirTemp("", "hubtest-"); err != nil {
			return nil, fmt.Errorf("creating a data folder: %w", err)
		}
		opts.DataDir = hub.temporary
	}
	if opts.Folders != nil {
		if opts.Manifests, err = Merge(opts.Folders); err != nil {
			return nil, err
		}
	}
	args, cleanup, err := opts.args(hub.temporary != "")
	if err != nil {
		return nil, err
	}
	// The manifests are read before the hub is ready.
	defer cleanup()
	if hub.process, err = process.Start(ctx, process.NewOutput(0, readyLine), binary, args...); err != nil {
		return nil, err
	}
	if err := hub.awaitReady(ctx); err != nil {
		_ = hub.Stop() // the first error is the cause
		return nil, err
	}
	return hub, nil
}

// binary returns the program: testhub where a test needs nothing but the control plane, so that the result of a test does not depend on
// programs that it does not run.
func (o Options) binary() (string, error) {
	if o.plain() {
		return checkout.Program("testhub")
	}
	return Binary()
}

func (o Options) plain() bool {
	return RunsLinkedKubernetes() && !o.Manager && o.Member == nil && len(o.Args) == 0
}

// args returns the command line, and a function that removes its temporary files.
func (o Options) args(temporary bool) (args []string, cleanup func(), err error) {
	switch {
	case o.plain():
	case o.Member != nil:
		args = append([]string{"member", "--stop-with-stdin"}, o.Member...)
	default:
		args = []string{"--stop-with-stdin"}
		if !o.Manager {
			args = append(args, "--no-manager")
		}
		if !o.Protected {
			args = append(args, "--deletion-protection=Off")
		}
		if !o.TaintUnjoined {
			args = append(args, "--taint-unjoined=false")
		}
	}
	args = append(args, "--data-dir="+o.DataDir)
	if temporary {
		args = append(args, "--unsafe-no-fsync")
	}
	if o.Manifests == nil {
		return append(args, o.Args...), func() {}, nil
	}
	dir, err := os.MkdirTemp("", "hubtest-manifests-")
	if err != nil {
		return nil, nil, fmt.Errorf("creating a folder for manifests: %w", err)
	}
	cleanup = func() { _ = os.RemoveAll(dir) } // a leftover temporary folder does no harm
	if err := os.CopyFS(dir, o.Manifests); err != nil {
		cleanup()
		return nil, nil, fmt.Errorf("copying manifests: %w", err)
	}
	return append(append(args, "--manifests="+dir), o.Args...), cleanup, nil
}

func (h *Hub) awaitReady(ctx context.Context) error {
	select {
	case h.kubeconfig = <-h.process.Output().Line():
	case <-h.process.Done():
		return fmt.Errorf("starting a hub: %w", h.process.ExitError())
	case <-ctx.Done():
		return fmt.Errorf("waiting for the hub: %w: %s", ctx.Err(), h.Output())
	}
	config, err := clientcmd.BuildConfigFromFlags("", h.kubeconfig)
	if err != nil {
		return fmt.Errorf("reading the hub's kubeconfig: %w", err)
	}
	config.QPS = -1
	h.config = config
	return nil
}

// Kubeconfig returns the path of the administrator's kubeconfig.
func (h *Hub) Kubeconfig() string {
	checkout.Again()
	return h.kubeconfig
}

// Config returns a copy of the administrator's client configuration, without a
// rate limit.
func (h *Hub) Config() *rest.Config {
	checkout.Again()
	return rest.CopyConfig(h.config)
}

// DataDir returns the hub's data folder.
func (h *Hub) DataDir() string { return filepath.Dir(h.kubeconfig) }

// PID returns the process ID of the hub, for signals and measurements.
func (h *Hub) PID() int { return h.process.PID() }

// Done closes when the process has ended; Output is complete then.
func (h *Hub) Done() <-chan struct{} { return h.process.Done() }

// Output returns the output of the hub.
func (h *Hub) Output() string { return strings.TrimSpace(h.process.Output().String()) }

// Stop ends the hub and waits for its end. It returns an error if the hub has failed, now or earlier; the end by Kill is not a failure. A
// hub with a temporary folder is killed, since nothing of it is needed, and its folder is removed.
func (h *Hub) Stop() error {
	if h.temporary != "" {
		defer os.RemoveAll(h.temporary) //nolint:errcheck // a leftover temporary folder does no harm
		if h.process.Running() {
			h.process.Kill()
		}
	}
	var timeout error
	if !h.process.Stop() {
		timeout = errStopTimeout
	}
	err := h.process.Err()
	if timeout == nil && (err == nil || wasKilled(err)) {
		return nil
	}
	return fmt.Errorf("stopping the hub: %w: %s", errors.Join(timeout, err), h.Output())
}

// CloseInput closes the standard input of the hub, as the end of the test binary would.
func (h *Hub) CloseInput() { h.process.CloseInput() }

// Kill kills the process, as a power cut would, and waits for its end. The data folder stays, also if it is temporary.
func (h *Hub) Kill() { h.process.Kill() }

// wasKilled returns whether a process ended by SIGKILL.
func wasKilled(err error) bool {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}
