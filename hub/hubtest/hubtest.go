// Package hubtest gives tests a real hub: etcd, the API server and its
// controllers, in a process of their own.
//
// It owns that process and its data. It refuses to know what a test does with the
// hub. Managers are processes of their own (see StartManager), so that a test can
// kill them without hurting the API server. The invariant: no hub outlives its
// test binary, and no manager either. Each one ends when its standard input does, which the operating
// system closes however the test binary dies, and then removes its own data.
//
// Most tests of a package should share one hub, which starts in three seconds:
//
//	var shared *hubtest.Hub
//
//	func TestMain(m *testing.M) { os.Exit(hubtest.Main(m, &shared, hubtest.Options{})) }
//
// and keep apart by namespaces. Those that stop or break a hub start their own
// with New.
package hubtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	startTimeout = 2 * time.Minute
	stopTimeout  = 30 * time.Second
)

var errStopTimeout = errors.New("still running, so it was killed")

// Options configures a test's hub. The zero value is a hub with Berth's own
// resource definitions, no manager, and a data folder that vanishes.
type Options struct {
	// Manifests are applied at the start, after Berth's own.
	Manifests fs.FS
	// DataDir keeps the data over several hubs. Empty means a temporary folder.
	DataDir string
	// Manager runs Berth's manager within the hub, as users have it.
	Manager bool
	// TaintUnjoined leaves clusters that never joined unselectable, as the hub of a user does. Without it a test may store
	// clusters that have no agent.
	TaintUnjoined bool
	// Args are further flags of berth-hub.
	Args []string
}

// Hub is a running hub process.
type Hub struct {
	command    *exec.Cmd
	stdin      io.Closer
	output     *hubOutput
	kubeconfig string
	config     *rest.Config
	done       chan struct{}
	err        error // set before done closes

	building sync.Mutex
	managers map[bool]string // by whether they are built with the race detector
}

// Main runs the tests of a package with one hub for all of them and returns the
// exit code for TestMain.
func Main(m *testing.M, shared **Hub, opts Options) int {
	ctx := context.Background() //nolint:forbidigo // TestMain is where contexts begin
	hub, err := Start(ctx, opts)
	if err != nil {
		fmt.Fprintln(os.Stderr, "hubtest:", err)
		return 1
	}
	*shared = hub
	code := m.Run()
	if err := hub.Stop(); err != nil {
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

// Start builds berth-hub if needed, starts it and returns when it is ready. The
// hub runs until Stop, whatever becomes of ctx. When the process ends before it
// is ready, the error holds what it printed.
func Start(ctx context.Context, opts Options) (*Hub, error) {
	binary, err := Binary(ctx) // minutes on a cold build cache, so not under the limit
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	args, cleanup, err := opts.args()
	if err != nil {
		return nil, err
	}
	// The manifests are read before the hub is ready.
	defer cleanup()
	hub, err := launch(ctx, binary, args)
	if err != nil {
		return nil, err
	}
	if err := hub.awaitReady(ctx); err != nil {
		_ = hub.Stop() // the first error is the one that tells
		return nil, err
	}
	return hub, nil
}

// args returns the command line, and a function that removes what it points to.
func (o Options) args() (args []string, cleanup func(), err error) {
	args = []string{"--stop-with-stdin"}
	if !o.Manager {
		args = append(args, "--no-manager")
	}
	if !o.TaintUnjoined {
		args = append(args, "--taint-unjoined=false")
	}
	if o.DataDir == "" {
		args = append(args, "--ephemeral")
	} else {
		args = append(args, "--data-dir="+o.DataDir)
	}
	if o.Manifests == nil {
		return append(args, o.Args...), func() {}, nil
	}
	dir, err := os.MkdirTemp("", "hubtest-manifests-")
	if err != nil {
		return nil, nil, fmt.Errorf("creating a folder for manifests: %w", err)
	}
	cleanup = func() { _ = os.RemoveAll(dir) } // a leftover in the temporary folder harms nobody
	if err := os.CopyFS(dir, o.Manifests); err != nil {
		cleanup()
		return nil, nil, fmt.Errorf("copying manifests: %w", err)
	}
	return append(append(args, "--manifests="+dir), o.Args...), cleanup, nil
}

// launch starts the process. Its context carries no end: stopping is for Stop.
func launch(ctx context.Context, binary string, args []string) (*Hub, error) {
	hub := &Hub{output: newHubOutput(), done: make(chan struct{})}
	hub.command = exec.CommandContext(context.WithoutCancel(ctx), binary, args...)
	hub.command.Stdout = hub.output
	hub.command.Stderr = hub.output
	stdin, err := hub.command.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("creating the hub's standard input: %w", err)
	}
	hub.stdin = stdin
	if err := hub.command.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", binary, err)
	}
	go func() {
		defer close(hub.done)
		hub.err = hub.command.Wait()
	}()
	return hub, nil
}

func (h *Hub) awaitReady(ctx context.Context) error {
	select {
	case h.kubeconfig = <-h.output.kubeconfig:
	case <-h.done:
		return fmt.Errorf("starting a hub: %w: %s", h.err, h.output)
	case <-ctx.Done():
		return fmt.Errorf("waiting for the hub: %w: %s", ctx.Err(), h.output)
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
func (h *Hub) Kubeconfig() string { return h.kubeconfig }

// Config returns a client configuration for the administrator without a rate
// limit, the caller's to change.
func (h *Hub) Config() *rest.Config { return rest.CopyConfig(h.config) }

// DataDir returns the hub's data folder.
func (h *Hub) DataDir() string { return filepath.Dir(h.kubeconfig) }

// PID returns the hub's process, for signals and measurements.
func (h *Hub) PID() int { return h.command.Process.Pid }

// Done closes when the process has ended; Output is complete then.
func (h *Hub) Done() <-chan struct{} { return h.done }

// Output returns what the hub has printed.
func (h *Hub) Output() string { return h.output.String() }

// Stop ends the hub in its orderly way and waits for it. It returns an error if
// the hub failed, now or earlier; a hub that Kill ended has not failed.
func (h *Hub) Stop() error {
	_ = h.stdin.Close()                                                   // closed already when the process is gone
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout) //nolint:forbidigo // runs after the test's context has ended
	defer cancel()
	var late error
	select {
	case <-h.done:
	case <-ctx.Done():
		late = errStopTimeout
		h.Kill()
	}
	if late == nil && (h.err == nil || wasKilled(h.err)) {
		return nil
	}
	return fmt.Errorf("stopping the hub: %w: %s", errors.Join(late, h.err), h.output)
}

// Kill ends the process at once, as a power cut would, and waits for its end.
// The data folder stays, also a temporary one.
func (h *Hub) Kill() {
	_ = h.command.Process.Kill() // it fails only when the process is gone
	<-h.done
}
