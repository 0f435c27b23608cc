package admission

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/berth-project/berth/hub/hubtest"
)

// account is whom a manager acts as: the service account that it has in a cluster.
const account = "system:serviceaccount:berth-system:berth"

var accountGroups = []string{"system:serviceaccounts", "system:serviceaccounts:berth-system"}

var (
	errOpen   = errors.New("what needs a right was stored without it")
	errClosed = errors.New("not checked yet")
)

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

var (
	// current is the manager that runs, if any.
	current *manager
	// prepared says that what no manager has checked is stored.
	prepared sync.Once
)

// guarded makes sure that a manager runs and guards the hub.
func guarded(t *testing.T) {
	t.Helper()
	prepared.Do(func() { prepare(t) })
	if current == nil {
		launch(t)
	}
	t.Cleanup(func() {
		log := ""
		if current != nil {
			log = current.log.String()
		}
		if strings.Contains(log, "WARNING: DATA RACE") || strings.Contains(log, "panic:") {
			t.Error("the manager raced or panicked")
		}
		if t.Failed() {
			t.Logf("the manager's log:\n%s", log[max(0, len(log)-3000):])
		}
	})
}

// launch starts a manager that serves webhooks, and returns when they guard the hub.
func launch(t *testing.T, args ...string) {
	t.Helper()
	address := freeAddress(t)
	m := &manager{log: &journal{}, done: make(chan struct{})}
	args = append([]string{
		"manager", "--kubeconfig=" + kubeconfig(t, shared.ConfigFor(t, account, accountGroups...)),
		"--metrics-bind-address=0", "--health-probe-bind-address=0", "--leader-elect=false", "--log-format=text", "--kube-api-qps=-1",
		"--webhook-bind-address=" + address, "--webhook-url=https://" + address,
	}, args...)
	m.command = exec.Command(binary, args...)
	m.command.Stdout, m.command.Stderr = m.log, m.log
	// A manager must not outlive a test binary that is killed.
	m.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := m.command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(m.done)
		_ = m.command.Wait() // how it ended is told by its log
	}()
	current = m
	awaitGuard(t)
}

// awaitGuard returns once the manager answers every kind of question.
func awaitGuard(t *testing.T) {
	t.Helper()
	probe := newUser(t, "probe", []rule{all("managedclusters"), all("managedclustersets"), all("managedclustersetbindings"), all("placements")})
	hubtest.Eventually(t, soon, func(ctx context.Context) error {
		for _, object := range []map[string]any{
			cluster("probe", labels("cluster.open-cluster-management.io/clusterset", "x")),
			set("probe", map[string]any{"selectorType": "ExclusiveLabel", "exclusiveLabel": map[string]any{"key": "cluster.open-cluster-management.io/clusterset", "value": "default"}}),
			binding("default", "probe", "probe"),
			placement("default", "probe", map[string]any{"predicates": cel("1")}),
		} {
			_, err := probe.of(object).Create(ctx, asObject(object), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			switch {
			case err == nil:
				return errOpen
			case !apierrors.IsForbidden(err) && !apierrors.IsInvalid(err):
				return errors.Join(errClosed, err)
			}
		}
		return nil
	})
}

func shutdown() {
	if current != nil {
		_ = current.command.Process.Kill() // it fails only when the process is gone
		<-current.done
		current = nil
	}
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

// kubeconfig writes a client configuration to a file, which outlives the test: the manager may read it again.
func kubeconfig(t *testing.T, config *rest.Config) string {
	t.Helper()
	file := api.NewConfig()
	file.Clusters["hub"] = &api.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	file.AuthInfos["manager"] = &api.AuthInfo{ClientCertificateData: config.CertData, ClientKeyData: config.KeyData}
	file.Contexts["hub"] = &api.Context{Cluster: "hub", AuthInfo: "manager"}
	file.CurrentContext = "hub"
	dir, err := os.MkdirTemp("", "kubeconfig-") //nolint:usetesting // see above
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "config")
	if err := clientcmd.WriteToFile(*file, path); err != nil {
		t.Fatal(err)
	}
	return path
}
