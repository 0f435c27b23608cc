package member

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"

	"github.com/berth-project/berth/internal/agent/client"
)

// nodeCache watches the nodes.
type nodeCache struct {
	store    cache.Store
	informer cache.Controller
	changed  func()
}

func newNodeCache(c *client.Client, changed func()) *nodeCache {
	source := c.ListWatch(client.Nodes(), "", func() runtime.Object { return &corev1.NodeList{} })
	out := &nodeCache{changed: changed}
	out.store, out.informer = newInformer(source, &corev1.Node{}, slim, changed)
	return out
}

func (n *nodeCache) run(ctx context.Context) { runInformer(ctx, n.informer, n.changed) }

// list returns the nodes, and whether they were listed completely once.
func (n *nodeCache) list() ([]*corev1.Node, bool) {
	if !n.informer.HasSynced() {
		return nil, false
	}
	var out []*corev1.Node
	for _, object := range n.store.List() {
		if node, ok := object.(*corev1.Node); ok {
			out = append(out, node)
		}
	}
	return out, true
}

// slim keeps the fields of a node that a report is made of: a node with its images and conditions takes many times the memory.
func slim(object any) (any, error) {
	node, ok := object.(*corev1.Node)
	if !ok {
		return object, nil
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: node.Name, ResourceVersion: node.ResourceVersion, Labels: node.Labels},
		Spec:       corev1.NodeSpec{ProviderID: node.Spec.ProviderID, Unschedulable: node.Spec.Unschedulable},
		Status: corev1.NodeStatus{
			Capacity: node.Status.Capacity, Allocatable: node.Status.Allocatable, Conditions: readiness(node.Status.Conditions),
		},
	}, nil
}

// readiness returns the condition Ready without its times.
func readiness(conditions []corev1.NodeCondition) []corev1.NodeCondition {
	for _, condition := range conditions {
		if condition.Type == corev1.NodeReady {
			return []corev1.NodeCondition{{Type: condition.Type, Status: condition.Status}}
		}
	}
	return nil
}
