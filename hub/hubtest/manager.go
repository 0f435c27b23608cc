package hubtest

import (
	"context"
	"errors"
	"net"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

const (
	// exitTimeout is far more than a process needs that ends by itself.
	exitTimeout = 2 * time.Minute
	// maxLogBytes is how much of a log a failing test shows.
	maxLogBytes = 8000
)

var errRunning = errors.New("still running")

// ManagerOptions says how a manager differs from one that talks to the hub as the
// service account that it has in a cluster, without leader election and without
// webhooks, and ends with the test.
type ManagerOptions struct {
	// Race runs a manager that is built with the race detector.
	Race bool
	// Kubeconfig is another way to the hub.
	Kubeconfig string
	// Webhooks lets the manager guard the hub. The caller waits until it does.
	Webhooks bool
	// TaintUnjoined leaves clusters that never joined unselectable, as the manager of a user does. Without it a test may store
	// clusters that have no agent.
	TaintUnjoined bool
	// Args are further flags, which win over those that every manager gets.
	Args []string
	// AllowErrors is for tests that give the manager reason to log errors and refusals.
	AllowErrors bool
	// Shared managers outlive the test: whoever started one stops it, and inspects
	// it at the end of every test that uses it.
	Shared bool
}

// Manager is a running manager process.
type Manager struct {
	// MetricsAddress and Webhooks are the addresses that it serves them on.
	MetricsAddress, WebhookAddress string

	command     *exec.Cmd
	log         outputBuffer
	allowErrors bool
	// checkedBytes is how much of the log Inspect has seen.
	checkedBytes int
	stopErr      error
	done         chan struct{}
}

// ManagerConfig returns a client configuration for the service account that a
// manager has in a cluster, with no permission but what its roles give.
func (h *Hub) ManagerConfig(t testing.TB) *rest.Config {
	t.Helper()
	return h.ConfigFor(t, "system:serviceaccount:berth-system:berth", "system:serviceaccounts", "system:serviceaccounts:berth-system")
}

// FreeAddress returns an address of this machine alone that nobody listens on.
func FreeAddress(t testing.TB) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }() // nothing was accepted
	return listener.Addr().String()
}

// StartManager builds the manager if needed and starts it, without waiting for
// anything. Unless it is shared, it is stopped and inspected after the test; in any
// case it dies with the test binary.
func StartManager(t testing.TB, hub *Hub, opts ManagerOptions) *Manager {
	t.Helper()
	binary, err := hub.managerBinary(t.Context(), opts.Race)
	if err != nil {
		t.Fatal(err)
	}
	m := &Manager{MetricsAddress: FreeAddress(t), allowErrors: opts.AllowErrors, done: make(chan struct{})}
	if opts.Webhooks {
		m.WebhookAddress = FreeAddress(t)
	}
	if opts.Kubeconfig == "" {
		opts.Kubeconfig = hub.WriteKubeconfig(t, hub.ManagerConfig(t))
	}
	m.command = exec.Command(binary, m.args(opts)...) //nolint:noctx // a shared manager outlives the test
	m.command.Stdout, m.command.Stderr = &m.log, &m.log
	m.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // it must not outlive a test binary that is killed
	if err := m.command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(m.done)
		_ = m.command.Wait() // how it ended is told by its log and its exit code
	}()
	if !opts.Shared {
		t.Cleanup(func() {
			m.Stop()
			m.CheckLog(t)
		})
	}
	return m
}

func (m *Manager) args(opts ManagerOptions) []string {
	out := []string{
		"manager", "--kubeconfig=" + opts.Kubeconfig, "--metrics-bind-address=" + m.MetricsAddress, "--health-probe-bind-address=0",
		"--leader-elect=false", "--log-format=text", "--kube-api-qps=-1",
	}
	if opts.Webhooks {
		out = append(out, "--webhook-bind-address="+m.WebhookAddress, "--webhook-url=https://"+m.WebhookAddress)
	}
	if !opts.TaintUnjoined {
		out = append(out, "--taint-unjoined=false")
	}
	return append(out, opts.Args...)
}

// managerBinary is ManagerBinary, asked once for each kind: tests start hundreds.
func (h *Hub) managerBinary(ctx context.Context, race bool) (string, error) {
	h.building.Lock()
	defer h.building.Unlock()
	if path, ok := h.managers[race]; ok {
		return path, nil
	}
	path, err := ManagerBinary(ctx, race)
	if err != nil {
		return "", err
	}
	if h.managers == nil {
		h.managers = map[bool]string{}
	}
	h.managers[race] = path
	return path, nil
}

// Log returns what the manager has printed.
func (m *Manager) Log() string { return m.log.String() }

// Tail returns the end of the log.
func (m *Manager) Tail() string {
	log := m.Log()
	return log[max(0, len(log)-maxLogBytes):]
}

// Done closes when the process has ended; the log is complete then.
func (m *Manager) Done() <-chan struct{} { return m.done }

// WaitExit waits for the process to end by itself and returns its exit code.
func (m *Manager) WaitExit(t testing.TB) int {
	t.Helper()
	Eventually(t, exitTimeout, func(context.Context) error {
		select {
		case <-m.done:
			return nil
		default:
			return errRunning
		}
	})
	return m.command.ProcessState.ExitCode()
}

// Signal sends a signal to the process, which must be running.
func (m *Manager) Signal(t testing.TB, signal syscall.Signal) {
	t.Helper()
	if err := m.command.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
}

// Kill ends the process at once, as a power cut would, and waits for its end.
func (m *Manager) Kill() {
	_ = m.command.Process.Kill() // it fails only when the process is gone
	<-m.done
}

// Stop ends the process in its orderly way and waits for its end. One that takes
// too long is killed; Inspect tells. Stopping what has ended does nothing.
func (m *Manager) Stop() {
	_ = m.command.Process.Signal(syscall.SIGTERM)                         // it fails only when the process is gone
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout) //nolint:forbidigo // runs after the test's context has ended
	defer cancel()
	select {
	case <-m.done:
	case <-ctx.Done():
		m.stopErr = errStopTimeout
		m.Kill()
	}
}

// CheckLog fails the test where the manager has raced, panicked or not ended in
// time since it was last inspected, and, unless it may, where it has logged an
// error or a refusal. A test that fails anyhow shows the end of the log.
func (m *Manager) CheckLog(t testing.TB) {
	t.Helper()
	if m.stopErr != nil {
		t.Errorf("stopping the manager: %v", m.stopErr)
	}
	signs := []string{"WARNING: DATA RACE", "panic:"}
	if !m.allowErrors {
		signs = append(signs, "level=ERROR", "forbidden")
	}
	log := m.Log()
	log = log[:strings.LastIndexByte(log, '\n')+1] // whole lines
	at := m.checkedBytes
	for line := range strings.Lines(log[at:]) {
		for _, sign := range signs {
			if strings.Contains(line, sign) && !isShutdownError(line) {
				t.Errorf("the manager's log:\n%s", log[at:min(len(log), at+len(line)+maxLogBytes/4)])
			}
		}
		at += len(line)
	}
	m.checkedBytes = at
	if t.Failed() {
		t.Logf("the end of the manager's log:\n%s", m.Tail())
	}
}

// isShutdownError says whether an error is that of a manager that is told to end: what was under way is canceled, what was read for
// the first time is not read to its end.
func isShutdownError(line string) bool {
	return strings.Contains(line, context.Canceled.Error()) || strings.Contains(line, "Informer to sync")
}
