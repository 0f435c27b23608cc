package hub

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
)

// ReaderFlag is the flag that makes a benchmark a reader. Its value is the kubeconfig of the hub to read.
const ReaderFlag = "read"

// readerLine is the output of a reader when it has read everything.
const readerLine = "read everything\n"

// StartReader starts a process that reads the objects of a manager and does nothing with them. Its usage is the cost of reading
// alone. The process runs this program again. StartReader returns when the process has listed everything. The process then
// watches clusters.
func (h *Hub) StartReader(ctx context.Context) (*Process, error) {
	kubeconfig, err := h.adminKubeconfig()
	if err != nil {
		return nil, err
	}
	own, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("looking for this program: %w", err)
	}
	process, err := start(ctx, strings.TrimSpace(readerLine), own, "-"+ReaderFlag, kubeconfig)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	select {
	case <-process.Output().Line():
		return process, nil
	case <-process.Done():
		return nil, process.ExitError()
	case <-ctx.Done():
		process.Stop()
		return nil, fmt.Errorf("waiting for a reader: %w", context.Cause(ctx))
	}
}

func (h *Hub) adminKubeconfig() (string, error) {
	config := h.AdminConfig()
	file := api.NewConfig()
	file.Clusters["hub"] = &api.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData, CertificateAuthority: config.CAFile}
	file.AuthInfos["reader"] = &api.AuthInfo{
		Token: config.BearerToken, ClientCertificate: config.CertFile, ClientCertificateData: config.CertData,
		ClientKey: config.KeyFile, ClientKeyData: config.KeyData,
	}
	file.Contexts["hub"] = &api.Context{Cluster: "hub", AuthInfo: "reader"}
	file.CurrentContext = "hub"
	data, err := clientcmd.Write(*file)
	if err != nil {
		return "", fmt.Errorf("writing a kubeconfig: %w", err)
	}
	return h.writeKubeconfig("reader.kubeconfig", data)
}

// Read lists everything and then watches clusters, until ctx ends.
func Read(ctx context.Context, kubeconfig string, out io.Writer) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("reading the hub's kubeconfig: %w", err)
	}
	config.QPS = -1
	reader, err := Client(config)
	if err != nil {
		return err
	}
	clusters := &clusterv1.ManagedClusterList{}
	for _, list := range []client.ObjectList{
		clusters, &clusterv1beta2.ManagedClusterSetList{}, &clusterv1beta2.ManagedClusterSetBindingList{}, &clusterv1beta1.PlacementList{},
		&clusterv1beta1.PlacementDecisionList{}, &clusterv1alpha1.AddOnPlacementScoreList{}, &coordinationv1.LeaseList{},
		&workv1.ManifestWorkList{}, &workv1alpha1.ManifestWorkReplicaSetList{},
	} {
		if err := reader.List(ctx, list, &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: "0"}}); err != nil {
			return fmt.Errorf("reading everything: %w", err)
		}
	}
	since := clusters.ResourceVersion
	if _, err := io.WriteString(out, readerLine); err != nil {
		return fmt.Errorf("reporting the end of the lists: %w", err)
	}
	for ctx.Err() == nil {
		if since, err = watchUntilClosed(ctx, reader, since); err != nil {
			return err
		}
	}
	return nil
}

// watchUntilClosed watches clusters until the watch ends, and returns the last resource version.
func watchUntilClosed(ctx context.Context, reader client.WithWatch, since string) (string, error) {
	events, err := reader.Watch(ctx, &clusterv1.ManagedClusterList{}, &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: since}})
	if err != nil {
		if ctx.Err() != nil {
			return since, nil
		}
		return since, fmt.Errorf("watching clusters: %w", err)
	}
	defer events.Stop()
	for event := range events.ResultChan() {
		if event.Type == watch.Error {
			return since, fmt.Errorf("watching clusters: %w", apierrors.FromObject(event.Object))
		}
		if cluster, ok := event.Object.(*clusterv1.ManagedCluster); ok {
			since = cluster.ResourceVersion
		}
	}
	return since, nil
}
