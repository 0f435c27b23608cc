package usage

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/resource"

	"github.com/berth-project/berth/internal/source/score"
)

// The resources that are counted.
const (
	cpu = iota
	memory
	gpu
	pods
	resources
)

// scoreNames are the scores of a resource: how much of what nodes have is not requested by pods, and how much of it is not used. Use is
// measured of two resources.
type scoreNames struct {
	of                int
	available, unused string
}

func table() []scoreNames {
	return []scoreNames{
		{cpu, "cpuAvailable", "cpuUnused"},
		{memory, "memoryAvailable", "memoryUnused"},
		{gpu, "gpuAvailable", ""},
		{pods, "podsAvailable", ""},
	}
}

// names returns all scores.
func names() []string {
	var out []string
	for _, row := range table() {
		out = append(out, row.available)
		if row.unused != "" {
			out = append(out, row.unused)
		}
	}
	return out
}

// amounts are quantities by resource: cores, bytes, devices and pods.
type amounts [resources]float64

func (a *amounts) add(other amounts) {
	for i := range a {
		a[i] += other[i]
	}
}

// amountsOf returns the quantities of a list.
func amountsOf(list corev1.ResourceList) amounts {
	var out amounts
	for name, quantity := range list {
		switch {
		case name == corev1.ResourceCPU:
			out[cpu] = quantity.AsApproximateFloat64()
		case name == corev1.ResourceMemory:
			out[memory] = quantity.AsApproximateFloat64()
		case name == corev1.ResourcePods:
			out[pods] = quantity.AsApproximateFloat64()
		case isGPU(string(name)):
			out[gpu] += quantity.AsApproximateFloat64()
		}
	}
	return out
}

// isGPU reports whether a resource is a whole GPU, as the device plugins of the vendors name it.
func isGPU(name string) bool {
	domain, device, qualified := strings.Cut(name, "/")
	return qualified && (device == "gpu" || domain == "gpu.intel.com" && (device == "i915" || device == "xe"))
}

// node is what a node has, and what is taken of it.
type node struct {
	allocatable, requested, used amounts
	// measured is set where the node has reported what is used.
	measured bool
}

// countedNodes returns the nodes on which pods can be placed, by name: those that are ready and schedulable.
func countedNodes(all []*corev1.Node) map[string]*node {
	out := map[string]*node{}
	for _, of := range all {
		if !of.Spec.Unschedulable && isReady(of) {
			out[of.Name] = &node{allocatable: amountsOf(of.Status.Allocatable)}
		}
	}
	return out
}

func isReady(of *corev1.Node) bool {
	for _, condition := range of.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// addPod counts the requests of a pod as the scheduler does: with init containers, sidecars, overhead, requests of the whole pod, and
// resizes that are not finished. A pod that has ended requests nothing.
func addPod(nodes map[string]*node, pod *corev1.Pod) {
	on := nodes[pod.Spec.NodeName]
	if on == nil || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return
	}
	// The parts of the status exist only where their features are enabled.
	requested := amountsOf(resource.PodRequests(pod, resource.PodResourcesOptions{
		UseStatusResources: true, InPlacePodLevelResourcesVerticalScalingEnabled: true, UseDRANodeAllocatableResourceClaimStatus: true,
	}))
	requested[pods] = 1
	on.requested.add(requested)
}

// scoresOf returns the scores by name. Of a resource that no node has, nothing is available. What is used is measured over the nodes that
// have reported it. Without such a node it is left out.
func scoresOf(nodes map[string]*node) map[string]int32 {
	out := map[string]int32{}
	for _, row := range table() {
		free, total := share(nodes, row.of, func(n *node) (amounts, bool) { return n.requested, true })
		out[row.available] = scoreOf(free, total)
		if row.unused == "" {
			continue
		}
		if free, total := share(nodes, row.of, func(n *node) (amounts, bool) { return n.used, n.measured }); total > 0 {
			out[row.unused] = scoreOf(free, total)
		}
	}
	return out
}

// share returns how much of a resource is free and how much there is, over the nodes that count. A node on which more is taken than it has
// takes nothing from the others.
func share(nodes map[string]*node, of int, taken func(*node) (amounts, bool)) (free, total float64) {
	for _, n := range nodes {
		if amount, counts := taken(n); counts {
			free += max(0, n.allocatable[of]-amount[of])
			total += n.allocatable[of]
		}
	}
	return free, total
}

// scoreOf returns 100 where all is free, and -100 where nothing is.
func scoreOf(free, total float64) int32 {
	if total <= 0 {
		free, total = 0, 1
	}
	out, _ := score.Normalize(free/total, 0, 1) // it is finite
	return out
}
