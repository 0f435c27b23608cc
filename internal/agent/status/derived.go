package status

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/agent/member"
)

// clusterPropertyID is the ClusterProperty of KEP-2149 that identifies a cluster in its cluster set.
const clusterPropertyID = "cluster.clusterset.k8s.io"

// other is the value for a platform or a product that is not recognized.
const other = "Other"

// derived returns the claims that the agent reports where the member has none of that name.
func derived(facts member.Facts) map[string]string {
	out := map[string]string{
		clusterv1.ClaimID:          facts.UID,
		clusterv1.ClaimKubeVersion: facts.Version,
		clusterv1.ClaimPlatform:    platform(facts.Nodes),
		clusterv1.ClaimProduct:     product(facts.Version, facts.Nodes),
		clusterv1.ClaimRegion:      commonLabel(facts.Nodes, corev1.LabelTopologyRegion),
		clusterv1.ClaimZone:        commonLabel(facts.Nodes, corev1.LabelTopologyZone),
	}
	if id := facts.Properties[clusterPropertyID]; fits(clusterv1.ClaimID, id) {
		out[clusterv1.ClaimID] = id
	}
	for name, value := range out {
		if value == "" {
			delete(out, name)
		}
	}
	return out
}

// platform returns what the nodes run on, by the scheme of their provider IDs; empty without nodes.
func platform(nodes []*corev1.Node) string {
	return common(nodes, func(node *corev1.Node) string {
		scheme, _, _ := strings.Cut(node.Spec.ProviderID, "://")
		switch scheme {
		case "aws":
			return "AWS"
		case "azure":
			return "Azure"
		case "gce":
			return "GCP"
		case "ibm", "ibmcloud":
			return "IBM"
		case "openstack":
			return "OpenStack"
		case "vsphere":
			return "VSphere"
		case "baremetalhost", "metal3":
			return "BareMetal"
		default:
			return other
		}
	})
}

// product returns the distribution of Kubernetes, by its version or by labels of the nodes; empty without both.
func product(version string, nodes []*corev1.Node) string {
	for _, mark := range []struct{ in, product string }{
		{"-eks-", "EKS"}, {"-gke.", "GKE"}, {"+IKS", "IKS"}, {"+k3s", "K3S"}, {"+rke2", "RKE2"},
	} {
		if strings.Contains(version, mark.in) {
			return mark.product
		}
	}
	byLabel := common(nodes, func(node *corev1.Node) string {
		for _, mark := range []struct{ label, product string }{
			{"kubernetes.azure.com/cluster", "AKS"},
			{"node.openshift.io/os_id", "OpenShift"},
			{"eks.amazonaws.com/nodegroup", "EKS"},
			{"cloud.google.com/gke-nodepool", "GKE"},
		} {
			if _, ok := node.Labels[mark.label]; ok {
				return mark.product
			}
		}
		return other
	})
	if byLabel == "" && version != "" {
		return other
	}
	return byLabel
}

// commonLabel returns the value of a label that all nodes with the label have; empty where they differ. A cluster in several
// zones has no zone.
func commonLabel(nodes []*corev1.Node, key string) string {
	out := ""
	for _, node := range nodes {
		value := node.Labels[key]
		if value == "" || value == out {
			continue
		}
		if out != "" {
			return ""
		}
		out = value
	}
	return out
}

// common returns what all nodes have in common; other where they differ, and empty without nodes.
func common(nodes []*corev1.Node, of func(*corev1.Node) string) string {
	out := ""
	for _, node := range nodes {
		switch value := of(node); {
		case out == "":
			out = value
		case out != value:
			return other
		}
	}
	return out
}
