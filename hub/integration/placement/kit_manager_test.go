package placement

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/berth-project/berth/hub/hubtest"
)

// account is whom a manager acts as: the service account that it has in a cluster.
const account = "system:serviceaccount:berth-system:berth"

var accountGroups = []string{"system:serviceaccounts", "system:serviceaccounts:berth-system"}

// manager is a running manager process.
type manager struct {
	command *exec.Cmd
	metrics string
	log     *journal
	done    chan struct{}
}

// journal collects what a process prints.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(data []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(data)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// options says how a manager differs from one that talks to the shared hub without leader election.
type options struct {
	binary     string
	kubeconfig string
	args       []string
}

// steady is a manager that several tests use one after the other.
var steady *manager

// running returns the manager that is shared by tests which do not harm it.
func running(t *testing.T) *manager {
	t.Helper()
	if steady == nil {
		steady = launch(t, options{binary: binaries.race})
	}
	t.Cleanup(func() {
		steady.noRace(t)
		if t.Failed() {
			t.Logf("the manager's log:\n%s", steady.tail())
		}
	})
	return steady
}

// alone stops the shared manager, for tests that start their own.
func alone(t *testing.T) {
	t.Helper()
	shutdown()
}

func shutdown() {
	if steady != nil {
		steady.stop()
		steady = nil
	}
}

// start runs a manager that ends with the test.
func start(t *testing.T, o options) *manager {
	t.Helper()
	alone(t)
	m := launch(t, o)
	t.Cleanup(func() {
		m.stop()
		m.noRace(t)
		if t.Failed() {
			t.Logf("the manager's log:\n%s", m.tail())
		}
	})
	return m
}

func launch(t *testing.T, o options) *manager {
	t.Helper()
	if o.binary == "" {
		o.binary = binaries.plain
	}
	if o.kubeconfig == "" {
		o.kubeconfig = kubeconfig(t, shared.ConfigFor(t, account, accountGroups...))
	}
	m := &manager{metrics: freeAddress(t), log: &journal{}, done: make(chan struct{})}
	args := []string{
		"manager", "--kubeconfig=" + o.kubeconfig, "--metrics-bind-address=" + m.metrics, "--health-probe-bind-address=0",
		"--leader-elect=false", "--log-format=text", "--kube-api-qps=-1",
	}
	if !slices.ContainsFunc(o.args, func(arg string) bool { return strings.HasPrefix(arg, "--controllers=") }) {
		args = append(args, "--controllers=placement") // these tests count the writes and rights of this loop alone
	}
	m.command = exec.Command(o.binary, append(args, o.args...)...)
	m.command.Stdout, m.command.Stderr = m.log, m.log
	// A manager must not outlive a test binary that is killed.
	m.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := m.command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(m.done)
		_ = m.command.Wait() // how it ended is told by its log and its state
	}()
	return m
}

// signal sends a signal to the process.
func (m *manager) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := m.command.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// kill ends the process as a power cut would.
func (m *manager) kill() {
	_ = m.command.Process.Kill() // it fails only when the process is gone
	<-m.done
}

// stop ends the process in its orderly way.
func (m *manager) stop() {
	_ = m.command.Process.Signal(syscall.SIGTERM) // it fails only when the process is gone
	<-m.done
}

func (m *manager) noRace(t *testing.T) {
	t.Helper()
	if log := m.log.String(); strings.Contains(log, "WARNING: DATA RACE") || strings.Contains(log, "panic:") {
		t.Errorf("the manager raced or panicked:\n%s", log)
	}
}

// tail returns the end of the log.
func (m *manager) tail() string {
	const most = 8000
	log := m.log.String()
	return log[max(0, len(log)-most):]
}

// ended waits for the process to end by itself and returns its exit code.
func (m *manager) ended(t *testing.T) int {
	t.Helper()
	hubtest.Eventually(t, soon, func(context.Context) error {
		select {
		case <-m.done:
			return nil
		default:
			return fmt.Errorf("still running")
		}
	})
	return m.command.ProcessState.ExitCode()
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// kubeconfig writes a client configuration to a file.
func kubeconfig(t *testing.T, config *rest.Config) string {
	t.Helper()
	ca := config.CAData
	if len(ca) == 0 && config.CAFile != "" {
		data, err := os.ReadFile(config.CAFile)
		if err != nil {
			t.Fatal(err)
		}
		ca = data
	}
	file := api.NewConfig()
	file.Clusters["hub"] = &api.Cluster{Server: config.Host, CertificateAuthorityData: ca}
	file.AuthInfos["manager"] = &api.AuthInfo{ClientCertificateData: config.CertData, ClientKeyData: config.KeyData}
	file.Contexts["hub"] = &api.Context{Cluster: "hub", AuthInfo: "manager"}
	file.CurrentContext = "hub"
	dir, err := os.MkdirTemp(scratch, "kubeconfig-") //nolint:usetesting // the shared manager outlives the test that starts it
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "config")
	if err := clientcmd.WriteToFile(*file, path); err != nil {
		t.Fatal(err)
	}
	return path
}
