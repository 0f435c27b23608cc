// Package tenancy tests who reaches what: sets, bindings, grants and the roles to hand out, on a real hub, with real
// users and real RBAC, and a manager that is a process of its own with the permissions that it has in a cluster.
//
// The tests share one hub and one manager, without admission: what loops keep must hold without it. They keep apart by
// the names that unique returns.
package tenancy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/berth-project/berth/hub/hubtest"
)

// soon is far more than anything here needs: what is waited for is never a matter of speed.
const soon = 60 * time.Second

// account is whom a manager acts as: the service account that it has in a cluster.
const account = "system:serviceaccount:berth-system:berth"

var (
	shared *hubtest.Hub
	// binary is the manager under test, built with the race detector.
	binary string
	// steady is the manager that runs while no test needs one of its own.
	steady *manager
)

func TestMain(m *testing.M) {
	if err := build(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := hubtest.Main(m, &shared, hubtest.Options{})
	if steady != nil {
		steady.stop()
	}
	os.Exit(code)
}

// build builds the manager into the user's cache folder.
func build(ctx context.Context) error {
	cache, cacheErr := os.UserCacheDir()
	here, hereErr := os.Getwd()
	if err := errors.Join(cacheErr, hereErr); err != nil {
		return err
	}
	binary = filepath.Join(cache, "berth", "manager", strings.ReplaceAll(here, string(filepath.Separator), "_"), "berth-race")
	command := exec.CommandContext(ctx, "go", "build", "-C", filepath.Join(here, "..", "..", ".."), "-race", "-o", binary, "./cmd/berth")
	if printed, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("building the manager: %w: %s", err, printed)
	}
	return nil
}

// manager is a running manager process.
type manager struct {
	command *exec.Cmd
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

// running makes sure that the shared manager runs, and looks into its log at the end of the test.
func running(t *testing.T) *manager {
	t.Helper()
	if steady == nil {
		steady = launch(t, kubeconfig(t, shared.ConfigFor(t, account, "system:serviceaccounts", "system:serviceaccounts:berth-system")))
	}
	m := steady
	t.Cleanup(func() { m.inspect(t) })
	return m
}

// pause stops the shared manager. The next test that needs it starts it again.
func pause(t *testing.T) {
	t.Helper()
	if steady != nil {
		steady.stop()
		steady.inspect(t)
		steady = nil
	}
}

func launch(t *testing.T, kubeconfig string, args ...string) *manager {
	t.Helper()
	m := &manager{log: &journal{}, done: make(chan struct{})}
	m.command = exec.Command(binary, append([]string{
		"manager", "--kubeconfig=" + kubeconfig, "--metrics-bind-address=0", "--health-probe-bind-address=0",
		"--leader-elect=false", "--log-format=text", "--kube-api-qps=-1",
	}, args...)...)
	m.command.Stdout, m.command.Stderr = m.log, m.log
	m.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // it must not outlive a test binary that is killed
	if err := m.command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(m.done)
		_ = m.command.Wait() // how it ended is told by its log
	}()
	return m
}

func (m *manager) stop() {
	_ = m.command.Process.Signal(syscall.SIGTERM) // it fails only when the process is gone
	<-m.done
}

// inspect fails the test where the manager raced, panicked or failed at anything.
func (m *manager) inspect(t *testing.T) {
	t.Helper()
	log := m.log.String()
	for line := range strings.Lines(log) {
		for _, sign := range []string{"WARNING: DATA RACE", "panic:", "level=ERROR", "forbidden"} {
			if strings.Contains(line, sign) && !strings.Contains(line, context.Canceled.Error()) { // that is its end
				t.Errorf("the manager's log: %s", line)
			}
		}
	}
	if t.Failed() {
		const most = 3000
		t.Logf("the manager's log:\n%s", log[max(0, len(log)-most):])
	}
}

// kubeconfig writes a client configuration to a file that goes with the hub.
func kubeconfig(t *testing.T, config *rest.Config) string {
	t.Helper()
	ca := config.CAData
	if len(ca) == 0 {
		data, err := os.ReadFile(config.CAFile)
		if err != nil {
			t.Fatal(err)
		}
		ca = data
	}
	file := api.NewConfig()
	file.Clusters["hub"] = &api.Cluster{Server: config.Host, CertificateAuthorityData: ca}
	file.AuthInfos["user"] = &api.AuthInfo{ClientCertificateData: config.CertData, ClientKeyData: config.KeyData}
	file.Contexts["hub"] = &api.Context{Cluster: "hub", AuthInfo: "user"}
	file.CurrentContext = "hub"
	path := filepath.Join(shared.DataDir(), unique("kubeconfig"))
	if err := clientcmd.WriteToFile(*file, path); err != nil {
		t.Fatal(err)
	}
	return path
}
