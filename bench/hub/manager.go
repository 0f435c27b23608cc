package hub

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/internal/kube/process"
)

// managerNamespace and managerAccount name the service account of the manager, as in a cluster.
const managerNamespace, managerAccount = "berth-system", "berth"

var errNoCollection = errors.New("the manager collected nothing")

var errNotGuarded = errors.New("the webhooks do not check yet")

// Manager is a running manager.
type Manager struct {
	*Process
	// metrics is the address of its metrics, profiles that of its profiles.
	metrics, profiles string
}

// InUse returns the bytes of heap and stacks that are in use after a collection. The collector lets the heap grow to about twice as much.
func (m *Manager) InUse(ctx context.Context) (int64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+m.profiles+"/debug/pprof/heap?gc=1", http.NoBody)
	if err != nil {
		return 0, fmt.Errorf("requesting a collection: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, fmt.Errorf("requesting a collection: %w", err)
	}
	defer response.Body.Close() //nolint:errcheck // only the metrics are of interest
	if response.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("requesting a collection: %s: %w", response.Status, errNoCollection)
	}
	metrics, err := m.Metrics(ctx)
	if err != nil {
		return 0, err
	}
	return int64(metrics.Sum("go_memstats_heap_inuse_bytes") + metrics.Sum("go_memstats_stack_inuse_bytes")), nil
}

// Metrics reads the metrics of the manager.
func (m *Manager) Metrics(ctx context.Context) (process.Metrics, error) {
	return process.ReadMetrics(ctx, m.metrics)
}

// StartManager starts the manager beside the hub, with further flags, and returns when its webhooks check writes. The views are off,
// because the hub has no address of them.
func (h *Hub) StartManager(ctx context.Context, args ...string) (*Manager, error) {
	kubeconfig, err := h.managerKubeconfig(ctx)
	if err != nil {
		return nil, err
	}
	addresses, err := freeAddresses(3)
	if err != nil {
		return nil, err
	}
	webhooks, metrics, profiles := addresses[0], addresses[1], addresses[2]
	child, err := start(ctx, "", filepath.Join(h.bin, "berth"), append([]string{
		"manager", "--kubeconfig=" + kubeconfig, "--log-format=text",
		"--metrics-bind-address=" + metrics, "--profile-bind-address=" + profiles, "--health-probe-bind-address=0", "--leader-elect=false",
		"--simulate",
		"--webhook-bind-address=" + webhooks, "--webhook-url=https://" + webhooks,
	}, args...)...)
	if err != nil {
		return nil, err
	}
	if err := h.awaitGuard(ctx, child); err != nil {
		child.Stop()
		return nil, err
	}
	return &Manager{child, metrics, profiles}, nil
}

// StartConsole is StartManager with the views and the console. It returns the address of the console.
func (h *Hub) StartConsole(ctx context.Context) (manager *Manager, address string, err error) {
	addresses, err := freeAddresses(2)
	if err != nil {
		return nil, "", err
	}
	_, port, err := net.SplitHostPort(addresses[0])
	if err != nil {
		return nil, "", fmt.Errorf("reading an address: %w", err)
	}
	manager, err = h.StartManager(ctx, "--view-bind-address="+addresses[0], "--view-service-port="+port,
		"--console-bind-address="+addresses[1])
	return manager, addresses[1], err
}

func (h *Hub) managerKubeconfig(ctx context.Context) (string, error) {
	config, err := h.token(ctx, managerNamespace, managerAccount)
	if err != nil {
		return "", err
	}
	file := api.NewConfig()
	file.Clusters["hub"] = &api.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData, CertificateAuthority: config.CAFile}
	file.AuthInfos["manager"] = &api.AuthInfo{Token: config.BearerToken}
	file.Contexts["hub"] = &api.Context{Cluster: "hub", AuthInfo: "manager"}
	file.CurrentContext = "hub"
	data, err := clientcmd.Write(*file)
	if err != nil {
		return "", fmt.Errorf("writing a kubeconfig: %w", err)
	}
	return h.writeKubeconfig("manager.kubeconfig", data)
}

// awaitGuard returns once the webhooks deny an invalid placement.
func (h *Hub) awaitGuard(ctx context.Context, manager *Process) error {
	admin, err := h.Admin()
	if err != nil {
		return err
	}
	last := errNotGuarded
	err = wait.PollUntilContextTimeout(ctx, pollInterval, startTimeout, true, func(ctx context.Context) (bool, error) {
		if !manager.Running() {
			return false, manager.ExitError()
		}
		wrong := &clusterv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: accountNamespace, Name: "wrong"}}
		wrong.Spec.Predicates = []clusterv1beta1.ClusterPredicate{{RequiredClusterSelector: clusterv1beta1.ClusterSelector{
			CelSelector: clusterv1beta1.ClusterCelSelector{CelExpressions: []string{"1"}},
		}}}
		err := admin.Create(ctx, wrong, client.DryRunAll)
		if err != nil {
			last = err
		}
		return apierrors.IsInvalid(err), nil
	})
	if err != nil {
		return fmt.Errorf("waiting for the webhooks: %w: %w", err, last)
	}
	return nil
}

// freeAddresses returns addresses on which no process listens.
func freeAddresses(count int) ([]string, error) {
	out := make([]string, 0, count)
	for range count {
		address, err := process.FreeAddress()
		if err != nil {
			return nil, err //nolint:wrapcheck // its text is complete
		}
		out = append(out, address)
	}
	return out, nil
}
