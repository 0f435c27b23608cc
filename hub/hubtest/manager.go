package hubtest

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/berth-project/berth/internal/kube/process"
)

const (
	// exitTimeout is far longer than a process needs to end by itself.
	exitTimeout = 2 * time.Minute
	// withdrawalGrace is the grace of a manager in tests, which wait until clusters leave.
	withdrawalGrace = 300 * time.Millisecond
	// maxLogBytes is how much of a log a failing test shows.
	maxLogBytes = 8000
)

var errRunning = errors.New("still running")

// ManagerOptions configures a manager. The zero value is a manager with the service
// account of a cluster, without leader election and webhooks, that ends with the test.
type ManagerOptions struct {
	// Kubeconfig replaces the kubeconfig of the service account.
	Kubeconfig string
	// Webhooks enables the webhooks. The caller waits until they check writes.
	Webhooks bool
	// TaintUnjoined taints clusters that never joined, which is the default of the manager. Without it a test may select clusters
	// that have no agent.
	TaintUnjoined bool
	// Args are further flags. They override the default flags.
	Args []string
	// AllowErrors is for tests in which the manager has reason to log errors and refusals.
	AllowErrors bool
	// Shared managers outlive the test. The caller stops the manager, and calls
	// CheckLog at the end of every test that uses it.
	Shared bool
}

// Manager is a running manager process.
type Manager struct {
	// MetricsAddress and WebhookAddress are its listeners.
	MetricsAddress, WebhookAddress string

	process     *process.Process
	output      *process.Output
	allowErrors bool
	// checkedBytes is how many bytes of the log CheckLog has read.
	checkedBytes int
	stopErr      error
}

// ManagerConfig returns a client configuration for the service account that a
// manager has in a cluster. It has the permissions of its roles only.
func (h *Hub) ManagerConfig(t testing.TB) *rest.Config {
	t.Helper()
	return h.ConfigFor(t, "system:serviceaccount:berth-system:berth", "system:serviceaccounts", "system:serviceaccounts:berth-system")
}

// FreeAddress returns a loopback address on which no process listens. See process.FreeAddress.
func FreeAddress(t testing.TB) string {
	t.Helper()
	out, err := process.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// StartManager starts the manager, without waiting for
// anything. Unless it is shared, it is stopped after the test and its log is checked.
// It ends with the test binary at the latest.
func StartManager(t testing.TB, hub *Hub, opts ManagerOptions) *Manager {
	t.Helper()
	binary, err := ManagerBinary()
	if err != nil {
		t.Fatal(err)
	}
	m := &Manager{MetricsAddress: FreeAddress(t), allowErrors: opts.AllowErrors, output: process.NewOutput(0, "")}
	if opts.Webhooks {
		m.WebhookAddress = FreeAddress(t)
	}
	if opts.Kubeconfig == "" {
		opts.Kubeconfig = hub.WriteKubeconfig(t, hub.ManagerConfig(t))
	}
	if m.process, err = process.Start(t.Context(), m.output, binary, m.args(opts)...); err != nil {
		t.Fatal(err)
	}
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
		"--leader-elect=false", "--log-format=text", "--kube-api-qps=-1", "--withdrawal-grace=" + withdrawalGrace.String(),
		"--expression-hold=" + withdrawalGrace.String(),
	}
	if opts.Webhooks {
		out = append(out, "--webhook-bind-address="+m.WebhookAddress, "--webhook-url=https://"+m.WebhookAddress)
	}
	if !opts.TaintUnjoined {
		out = append(out, "--taint-unjoined=false")
	}
	return append(out, opts.Args...)
}

// Log returns the output of the manager.
func (m *Manager) Log() string { return m.output.String() }

// Tail returns the end of the log.
func (m *Manager) Tail() string {
	log := m.Log()
	return log[max(0, len(log)-maxLogBytes):]
}

// Done closes when the process has ended; the log is complete then.
func (m *Manager) Done() <-chan struct{} { return m.process.Done() }

// WaitExit waits for the process to end by itself and returns its exit code.
func (m *Manager) WaitExit(t testing.TB) int {
	t.Helper()
	Eventually(t, exitTimeout, func(context.Context) error {
		if m.process.Running() {
			return errRunning
		}
		return nil
	})
	return m.process.ExitCode()
}

// Signal sends a signal to the process, which must be running.
func (m *Manager) Signal(t testing.TB, signal syscall.Signal) {
	t.Helper()
	if err := m.process.Signal(signal); err != nil {
		t.Fatal(err)
	}
}

// Running returns whether the process runs.
func (m *Manager) Running() bool { return m.process.Running() }

// Kill kills the process, as a power cut would, and waits for its end.
func (m *Manager) Kill() { m.process.Kill() }

// Stop terminates the process and waits for its end. It kills a process that takes too long, and CheckLog reports that.
func (m *Manager) Stop() {
	if !m.process.Stop() {
		m.stopErr = errStopTimeout
	}
}

// CheckLog fails the test if the manager had a race, panicked or did not end in
// time since the last check. Unless AllowErrors is set, it also fails the test for a
// logged error or refusal. In a failed test it prints the end of the log.
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
			if strings.Contains(line, sign) && !isExpectedError(line) {
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

// isExpectedError returns whether a line is an error that follows from the stop of the manager, which are canceled work and a first list
// that was not complete, or from the deletion of the test's namespace.
func isExpectedError(line string) bool {
	return strings.Contains(line, context.Canceled.Error()) || strings.Contains(line, "Informer to sync") ||
		strings.Contains(line, "level=INFO") && strings.Contains(line, "because it is being terminated")
}
