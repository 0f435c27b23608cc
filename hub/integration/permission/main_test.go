// Package permission tests that the manager's roles have all that it needs, and nothing else: each verb of each rule is
// used on a tour through everything that the manager does, and without any one rule the tour fails.
package permission

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

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/berth-project/berth/hub/hubtest"
)

var (
	shared *hubtest.Hub
	binary string
)

func TestMain(m *testing.M) {
	if err := build(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(hubtest.Main(m, &shared, hubtest.Options{}))
}

// build builds the manager into the user's cache folder.
func build(ctx context.Context) error {
	cache, cacheErr := os.UserCacheDir()
	here, hereErr := os.Getwd()
	if err := errors.Join(cacheErr, hereErr); err != nil {
		return err
	}
	binary = filepath.Join(cache, "berth", "manager", strings.ReplaceAll(here, string(filepath.Separator), "_"), "berth")
	command := exec.CommandContext(ctx, "go", "build", "-C", filepath.Join(here, "..", "..", ".."), "-o", binary, "./cmd/berth")
	if printed, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("building the manager: %w: %s", err, printed)
	}
	return nil
}

// manager is a running manager process.
type manager struct {
	command *exec.Cmd
	done    chan struct{}

	mu   sync.Mutex
	text bytes.Buffer
}

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

// launch starts a manager with everything on, which reaches the hub through the proxy. It is stopped after the test.
func launch(t *testing.T, via *proxy, webhooks, views string) *manager {
	t.Helper()
	file := api.NewConfig()
	file.Clusters["hub"] = &api.Cluster{Server: via.server.URL, CertificateAuthorityData: via.authority()}
	file.AuthInfos["user"] = &api.AuthInfo{}
	file.Contexts["hub"] = &api.Context{Cluster: "hub", AuthInfo: "user"}
	file.CurrentContext = "hub"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*file, path); err != nil {
		t.Fatal(err)
	}
	m := &manager{done: make(chan struct{})}
	m.command = exec.Command(binary, "manager", "--kubeconfig="+path, "--metrics-bind-address=0", "--health-probe-bind-address=0",
		"--leader-elect-lease-duration=3s", "--leader-elect-renew-deadline=2s", "--leader-elect-retry-period=200ms",
		"--log-format=text", "--kube-api-qps=-1", "--webhook-bind-address="+webhooks, "--webhook-url=https://"+webhooks, "--view-bind-address="+views)
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
		select {
		case <-m.done:
		case <-time.After(20 * time.Second):
			_ = m.command.Process.Kill()
			<-m.done
		}
	})
	return m
}
