package hub

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
)

// managerNamespace and managerAccount name whom the manager acts as in a cluster, and so here.
const managerNamespace, managerAccount = "berth-system", "berth"

var errOpen = errors.New("the webhooks do not guard the hub")

// StartManager starts the manager beside the hub, with its webhooks, and returns when they guard the hub. The views are
// off: the hub knows no address of theirs.
func (h *Hub) StartManager(ctx context.Context) (*Process, error) {
	kubeconfig, err := h.managerKubeconfig(ctx)
	if err != nil {
		return nil, err
	}
	webhooks, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	process, err := start(ctx, io.Discard, filepath.Join(h.bin, "berth"), "manager", "--kubeconfig="+kubeconfig, "--log-format=text",
		"--metrics-bind-address=0", "--health-probe-bind-address=0", "--leader-elect=false",
		"--webhook-bind-address="+webhooks, "--webhook-url=https://"+webhooks)
	if err != nil {
		return nil, err
	}
	if err := h.awaitGuard(ctx, process); err != nil {
		process.Stop()
		return nil, err
	}
	return process, nil
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

// awaitGuard returns once a placement that cannot be right is refused.
func (h *Hub) awaitGuard(ctx context.Context, manager *Process) error {
	admin, err := h.Admin()
	if err != nil {
		return err
	}
	last := errOpen
	err = wait.PollUntilContextTimeout(ctx, pollInterval, startLimit, true, func(ctx context.Context) (bool, error) {
		select {
		case <-manager.done:
			return false, manager.ended()
		default:
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

func freeAddress(ctx context.Context) (string, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("looking for a free port: %w", err)
	}
	defer func() { _ = listener.Close() }() // nothing was accepted
	return listener.Addr().String(), nil
}
