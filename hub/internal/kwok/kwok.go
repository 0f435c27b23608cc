// Package kwok runs fake nodes and their pods by the controllers of kwok, in this process.
//
// It owns the nodes, their stages and their leases. The scheduler and the controllers of workloads run elsewhere. The invariant: a
// pod on a fake node runs nothing. It becomes ready, and a pod of a Job succeeds. A pod with an image that has the tag "missing" waits
// with ErrImagePull.
package kwok

import (
	"context"
	_ "embed" // of a stage
	"fmt"
	"io"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	fastnode "sigs.k8s.io/kwok/kustomize/stage/node/fast"
	heartbeat "sigs.k8s.io/kwok/kustomize/stage/node/heartbeat-with-lease"
	fastpod "sigs.k8s.io/kwok/kustomize/stage/pod/fast"
	"sigs.k8s.io/kwok/pkg/apis/internalversion"
	"sigs.k8s.io/kwok/pkg/apis/v1alpha1"
	"sigs.k8s.io/kwok/pkg/kwok/controllers"
	"sigs.k8s.io/kwok/pkg/log"
	"sigs.k8s.io/kwok/pkg/utils/client"
	"sigs.k8s.io/yaml"
)

const (
	// holder is the identity on the leases of the nodes. It is the same after a restart, which then need not wait for the old leases.
	holder = "berth-hub"
	// nodeAnnotation is on every fake node, and no other node is touched.
	nodeAnnotation, nodeAnnotationValue = "kwok.x-k8s.io/node", "fake"
	leaseSeconds                        = 40
	workers                             = 2
	podCIDR                             = "10.1.0.0/16"
	nodeIP                              = "10.2.0.1"
)

// Options configures the fake nodes.
type Options struct {
	// Kubeconfig is the path of a kubeconfig that may write nodes, pods and their leases.
	Kubeconfig string
	// Log receives the log.
	Log io.Writer
	// Nodes is the number of nodes, with a capacity and labels each.
	Nodes    int
	Capacity corev1.ResourceList
	Labels   map[string]string
}

// CreateNodes creates the missing nodes: node-0, node-1 and so on.
func (o Options) CreateNodes(ctx context.Context, admin *rest.Config) error {
	member, err := kubernetes.NewForConfig(admin)
	if err != nil {
		return fmt.Errorf("creating fake nodes: %w", err)
	}
	for i := range o.Nodes {
		name := fmt.Sprintf("node-%d", i)
		labels := map[string]string{corev1.LabelHostname: name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64"}
		maps.Copy(labels, o.Labels)
		node := &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels, Annotations: map[string]string{nodeAnnotation: nodeAnnotationValue}},
			Status:     corev1.NodeStatus{Capacity: o.Capacity, Allocatable: o.Capacity},
		}
		if _, err := member.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating the fake node %s: %w", name, err)
		}
	}
	return nil
}

// Run keeps the nodes and their pods ready until ctx ends.
func (o Options) Run(ctx context.Context) error {
	config, err := o.config()
	if err != nil {
		return fmt.Errorf("configuring fake nodes: %w", err)
	}
	controller, err := controllers.NewController(config)
	if err != nil {
		return fmt.Errorf("configuring fake nodes: %w", err)
	}
	if err := controller.Start(log.NewContext(ctx, log.NewLogger(o.Log, log.LevelWarn))); err != nil {
		return fmt.Errorf("starting fake nodes: %w", err)
	}
	<-ctx.Done()
	return nil
}

// config returns the configuration of kwok's controllers.
func (o Options) config() (controllers.Config, error) {
	stages, err := stages()
	if err != nil {
		return controllers.Config{}, err
	}
	clients, err := client.NewClientset("", o.Kubeconfig)
	if err != nil {
		return controllers.Config{}, err
	}
	connection, err := clients.ToRESTConfig()
	if err != nil {
		return controllers.Config{}, err
	}
	typed, err := kubernetes.NewForConfig(connection)
	if err != nil {
		return controllers.Config{}, err
	}
	untyped, err := rest.RESTClientFor(connection)
	if err != nil {
		return controllers.Config{}, err
	}
	dynamic, err := clients.ToDynamicClient()
	if err != nil {
		return controllers.Config{}, err
	}
	mapper, err := clients.ToRESTMapper()
	if err != nil {
		return controllers.Config{}, err
	}
	return controllers.Config{
		Clock: clock.RealClock{}, ID: holder, LocalStages: stages,
		DynamicClient: dynamic, RESTClient: untyped, RESTMapper: mapper, TypedClient: typed,
		ImpersonatingDynamicClient: clients.ToImpersonatingDynamicClient(), ImpersonatingTypedClient: clients.ToImpersonatingTypedClient(),
		ManageNodesWithAnnotationSelector: nodeAnnotation + "=" + nodeAnnotationValue,
		CIDR:                              podCIDR, NodeIP: nodeIP,
		PodPlayStageParallelism: workers, NodePlayStageParallelism: workers, PodsOnNodeSyncParallelism: 1,
		NodeLeaseDurationSeconds: leaseSeconds, NodeLeaseParallelism: workers,
	}, nil
}

//go:embed stage/pod-image-missing.yaml
var podImageMissing string

// stages returns what happens to nodes and pods, by kind.
func stages() (map[internalversion.StageResourceRef][]*internalversion.Stage, error) {
	out := map[internalversion.StageResourceRef][]*internalversion.Stage{}
	for _, text := range []string{
		fastnode.DefaultNodeInit, heartbeat.DefaultNodeHeartbeatWithLease,
		podImageMissing, fastpod.DefaultPodReady, fastpod.DefaultPodComplete, fastpod.DefaultPodDelete,
	} {
		read := &v1alpha1.Stage{}
		if err := yaml.Unmarshal([]byte(text), read); err != nil {
			return nil, fmt.Errorf("reading a stage: %w", err)
		}
		stage, err := internalversion.ConvertToInternalStage(read)
		if err != nil {
			return nil, fmt.Errorf("reading the stage %s: %w", read.Name, err)
		}
		out[stage.Spec.ResourceRef] = append(out[stage.Spec.ResourceRef], stage)
	}
	return out, nil
}
