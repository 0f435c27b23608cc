package export

import (
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	rolloutv1alpha1 "github.com/berth-project/berth/api/rollout/v1alpha1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
)

// The kinds whose objects an export changes.
const (
	kindNamespace = "Namespace"
	kindCluster   = "ManagedCluster"
	kindSet       = "ManagedClusterSet"
	kindLease     = "Lease"
	kindWork      = "ManifestWork"
	// probeNamespace has the Secrets by which a hub reads clusters without an agent.
	probeNamespace = "berth-probe"
)

// kind is a kind of object that an export moves.
type kind struct {
	name     string
	resource schema.GroupVersionResource
	// status is set where the kind has the subresource status.
	status bool
	// namespace, selector and fields limit what is moved; empty is everything.
	namespace, selector, fields string
	// berth is set for the kinds of Berth. Objects of other kinds are moved as far as those of Berth need them.
	berth bool
}

// kinds returns the kinds in the order in which they are written. An owner comes before what it owns.
func kinds() []kind {
	berth := func(version schema.GroupVersion, name, resource string, status bool) kind {
		return kind{name: name, resource: version.WithResource(resource), status: status, berth: true}
	}
	return []kind{
		{name: kindNamespace, resource: corev1.SchemeGroupVersion.WithResource("namespaces")},
		berth(clusterv1beta2.GroupVersion, kindSet, "managedclustersets", true),
		berth(clusterv1.SchemeGroupVersion, kindCluster, "managedclusters", true),
		{name: kindLease, resource: coordinationv1.SchemeGroupVersion.WithResource("leases")},
		{
			name: "Secret", resource: corev1.SchemeGroupVersion.WithResource("secrets"), namespace: probeNamespace,
			selector: clusterv1.ProbeClusterLabelKey,
		},
		berth(addonv1alpha1.GroupVersion, "ClusterManagementAddOn", "clustermanagementaddons", true),
		berth(addonv1alpha1.GroupVersion, "AddOnTemplate", "addontemplates", false),
		berth(addonv1alpha1.GroupVersion, "AddOnDeploymentConfig", "addondeploymentconfigs", false),
		berth(addonv1alpha1.GroupVersion, "ManagedClusterAddOn", "managedclusteraddons", true),
		berth(clusterv1beta2.GroupVersion, "ManagedClusterSetBinding", "managedclustersetbindings", true),
		berth(clusterv1alpha1.GroupVersion, "AddOnPlacementScore", "addonplacementscores", true),
		berth(clusterv1beta1.GroupVersion, "Placement", "placements", true),
		berth(clusterv1beta1.GroupVersion, "PlacementDecision", "placementdecisions", true),
		berth(workv1alpha1.SchemeGroupVersion, "ManifestWorkReplicaSet", "manifestworkreplicasets", true),
		{name: "RolloutControl", resource: rolloutv1alpha1.SchemeGroupVersion.WithResource("rolloutcontrols")},
		{name: "ControllerRevision", resource: appsv1.SchemeGroupVersion.WithResource("controllerrevisions"), selector: workv1.ReplicaSetLabel},
		{name: "FormerTemplate", resource: rolloutv1alpha1.SchemeGroupVersion.WithResource("formertemplates"), selector: workv1.ReplicaSetLabel},
		berth(workv1.SchemeGroupVersion, kindWork, "manifestworks", true),
	}
}
