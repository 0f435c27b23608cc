package failover

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// binary is the manager that is under test.
var binary string

// build builds the manager into the user's cache folder.
func build(ctx context.Context) error {
	cache, cacheErr := os.UserCacheDir()
	here, hereErr := os.Getwd()
	if err := errors.Join(cacheErr, hereErr); err != nil {
		return err
	}
	binary = filepath.Join(cache, "berth", "manager", strings.ReplaceAll(here, string(filepath.Separator), "_"), "berth")
	command := exec.CommandContext(ctx, "go", "build", "-C", filepath.Join(here, "..", "..", ".."), "-race", "-o", binary, "./cmd/berth")
	if printed, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("building the manager: %w: %s", err, printed)
	}
	return nil
}

// manager is a running manager process.
type manager struct {
	metrics string
	command *exec.Cmd
	done    chan struct{}

	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer for the process.
func (m *manager) Write(data []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.text.Write(data)
}

func (m *manager) log() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.text.String()
}

// start runs a manager with every loop and webhook, which ends with the test.
func start(t *testing.T, webhooks string, args ...string) *manager {
	t.Helper()
	m := &manager{metrics: freeAddress(t), done: make(chan struct{})}
	m.command = exec.Command(binary, append([]string{
		"manager", "--kubeconfig=" + kubeconfig(t), "--metrics-bind-address=" + m.metrics, "--health-probe-bind-address=0", "--leader-elect=false",
		"--log-format=text", "--kube-api-qps=-1", "--webhook-bind-address=" + webhooks, "--webhook-url=https://" + webhooks,
	}, args...)...)
	m.command.Stdout, m.command.Stderr = m, m
	m.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // it must not outlive a test binary that is killed
	if err := m.command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(m.done)
		_ = m.command.Wait() // how it ended is told by its log
	}()
	t.Cleanup(func() {
		_ = m.command.Process.Signal(syscall.SIGTERM) // it fails only when the process is gone
		<-m.done
		if log := m.log(); strings.Contains(log, "DATA RACE") || strings.Contains(log, "panic:") || t.Failed() {
			t.Errorf("the manager's log:\n%s", log[max(0, len(log)-20000):])
		}
	})
	return m
}

// kill ends the process as a power cut would.
func (m *manager) kill() {
	_ = m.command.Process.Kill() // it fails only when the process is gone
	<-m.done
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

// kubeconfig writes how the manager's service account reaches the hub to a file.
func kubeconfig(t *testing.T) string {
	t.Helper()
	config := shared.ConfigFor(t, "system:serviceaccount:berth-system:berth", "system:serviceaccounts", "system:serviceaccounts:berth-system")
	file := api.NewConfig()
	file.Clusters["hub"] = &api.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData, CertificateAuthority: config.CAFile}
	file.AuthInfos["user"] = &api.AuthInfo{ClientCertificateData: config.CertData, ClientKeyData: config.KeyData}
	file.Contexts["hub"] = &api.Context{Cluster: "hub", AuthInfo: "user"}
	file.CurrentContext = "hub"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*file, path); err != nil {
		t.Fatal(err)
	}
	return path
}
