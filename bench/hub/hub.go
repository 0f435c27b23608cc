package hub

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	multiclusterv1alpha1 "github.com/berth-project/berth/api/multicluster/v1alpha1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
)

const (
	// readyLine begins the line that berth-hub prints when it is ready.
	readyLine    = "export KUBECONFIG="
	startTimeout = 2 * time.Minute
)

// Hub is a running control plane. One by Start has no manager until StartManager.
type Hub struct {
	// Server is etcd, the API server and its controllers, and the manager of StartManaged.
	Server *Process

	bin, dir string
	config   *rest.Config
	clients  kubernetes.Interface
}

// Start starts the berth-hub in a folder of binaries, without its manager, and returns when it is ready.
func Start(ctx context.Context, bin string) (*Hub, error) {
	return startHub(ctx, bin, "--no-manager")
}

// StartWith is Start with further manifests, from a folder.
func StartWith(ctx context.Context, bin, manifests string) (*Hub, error) {
	return startHub(ctx, bin, "--no-manager", "--manifests="+manifests)
}

// StartManaged starts the berth-hub in a folder of binaries, with its manager in the same process, and returns when it is ready.
func StartManaged(ctx context.Context, bin string) (*Hub, error) {
	return startHub(ctx, bin)
}

func startHub(ctx context.Context, bin string, args ...string) (*Hub, error) {
	process, err := start(ctx, readyLine, filepath.Join(bin, "berth-hub"), append([]string{"--ephemeral", "--stop-with-stdin"}, args...)...)
	if err != nil {
		return nil, err
	}
	out := &Hub{Server: process, bin: bin}
	if err := out.connect(ctx); err != nil {
		process.Stop()
		return nil, err
	}
	return out, nil
}

func (h *Hub) connect(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	var kubeconfig string
	select {
	case kubeconfig = <-h.Server.Output().Line():
	case <-h.Server.Done():
		return h.Server.ExitError()
	case <-ctx.Done():
		return fmt.Errorf("waiting for the hub: %w: %s", context.Cause(ctx), h.Server.Output())
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("reading the hub's kubeconfig: %w", err)
	}
	config.QPS, config.WarningHandler = -1, rest.NoWarnings{}
	if h.clients, err = kubernetes.NewForConfig(config); err != nil {
		return fmt.Errorf("reaching the hub: %w", err)
	}
	h.config, h.dir = config, filepath.Dir(kubeconfig)
	return nil
}

// StartAgent starts the berth-agent in the same folder of binaries.
func (h *Hub) StartAgent(ctx context.Context, flags []string) (*Process, error) {
	return start(ctx, "", filepath.Join(h.bin, "berth-agent"), flags...)
}

// Kubeconfig returns the kubeconfig of the administrator.
func (h *Hub) Kubeconfig() ([]byte, error) {
	path, err := h.adminKubeconfig()
	if err != nil {
		return nil, err
	}
	out, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading a kubeconfig: %w", err)
	}
	return out, nil
}

// Stop stops the hub.
func (h *Hub) Stop() { h.Server.Stop() }

// Admin returns a client for the administrator.
func (h *Hub) Admin() (client.WithWatch, error) { return Client(h.config) }

// AdminConfig returns a copy of the administrator's client configuration.
func (h *Hub) AdminConfig() *rest.Config { return rest.CopyConfig(h.config) }

// Client returns a client for the types of Berth and Kubernetes.
func Client(config *rest.Config) (client.WithWatch, error) {
	types := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		scheme.AddToScheme, clusterv1.AddToScheme, clusterv1alpha1.AddToScheme, clusterv1beta1.AddToScheme, clusterv1beta2.AddToScheme,
		addonv1alpha1.AddToScheme, multiclusterv1alpha1.AddToScheme, workv1.AddToScheme, workv1alpha1.AddToScheme,
	} {
		if err := add(types); err != nil {
			return nil, fmt.Errorf("registering types: %w", err)
		}
	}
	out, err := client.NewWithWatch(config, client.Options{Scheme: types})
	if err != nil {
		return nil, fmt.Errorf("reaching the hub: %w", err)
	}
	return out, nil
}

// writeKubeconfig stores a configuration in the hub's folder, which is deleted with the hub.
func (h *Hub) writeKubeconfig(name string, data []byte) (string, error) {
	path := filepath.Join(h.dir, name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return "", fmt.Errorf("writing a kubeconfig: %w", err)
	}
	return path, nil
}
