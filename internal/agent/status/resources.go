package status

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
)

const (
	cpuStepMilli    = 100
	memoryStepBytes = 64 << 20
)

// Capacity returns the capacity to report: the sum over all nodes. Resources that no node has stay as they are stored, because
// other clients report these.
func Capacity(nodes []*corev1.Node, stored clusterv1.ResourceList) clusterv1.ResourceList {
	out := clusterv1.ResourceList{}
	maps.Copy(out, stored)
	maps.Copy(out, sum(nodes, func(node *corev1.Node) corev1.ResourceList { return node.Status.Capacity }))
	return out
}

// Allocatable returns the sum of what pods may request, over the schedulable nodes.
func Allocatable(nodes []*corev1.Node) clusterv1.ResourceList {
	return sum(nodes, func(node *corev1.Node) corev1.ResourceList {
		if node.Spec.Unschedulable {
			return nil
		}
		return node.Status.Allocatable
	})
}

// sum adds a list of each node. CPU is rounded down to 0.1 and memory to 64 MiB, so that a small change is not a write.
func sum(nodes []*corev1.Node, of func(*corev1.Node) corev1.ResourceList) clusterv1.ResourceList {
	total := map[corev1.ResourceName]resource.Quantity{}
	for _, node := range nodes {
		for name, quantity := range of(node) {
			added := total[name]
			added.Add(quantity)
			total[name] = added
		}
	}
	out := clusterv1.ResourceList{}
	for name, quantity := range total {
		out[clusterv1.ResourceName(name)] = rounded(name, quantity)
	}
	return out
}

func rounded(name corev1.ResourceName, quantity resource.Quantity) resource.Quantity {
	switch name {
	case corev1.ResourceCPU:
		return *resource.NewMilliQuantity(quantity.MilliValue()/cpuStepMilli*cpuStepMilli, resource.DecimalSI)
	case corev1.ResourceMemory:
		return *resource.NewQuantity(quantity.Value()/memoryStepBytes*memoryStepBytes, resource.BinarySI)
	default:
		return quantity
	}
}
