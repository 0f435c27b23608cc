package client

import (
	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	workv1 "github.com/berth-project/berth/api/work/v1"
)

// ManagedCluster returns the path of one ManagedCluster, or of all where name is empty.
func ManagedCluster(name string) Object {
	return Object{Resource: clusterv1.SchemeGroupVersion.WithResource("managedclusters"), Name: name}
}

// Lease returns the path of the lease of a cluster.
func Lease(cluster string) Object {
	return Object{
		Resource: coordinationv1.SchemeGroupVersion.WithResource("leases"), Namespace: cluster,
		Name: clusterv1.ManagedClusterLeaseName,
	}
}

// AddOnLease returns the path of the lease of an add-on on the member.
func AddOnLease(namespace, addOn string) Object {
	return Object{Resource: coordinationv1.SchemeGroupVersion.WithResource("leases"), Namespace: namespace, Name: addOn}
}

// AddOn returns the path of one add-on of a cluster, or of all where name is empty.
func AddOn(cluster, name string) Object {
	return Object{Resource: addonv1alpha1.SchemeGroupVersion.WithResource("managedclusteraddons"), Namespace: cluster, Name: name}
}

// CSR returns the path of one CertificateSigningRequest, or of all where name is empty.
func CSR(name string) Object {
	return Object{Resource: certificatesv1.SchemeGroupVersion.WithResource("certificatesigningrequests"), Name: name}
}

// SelfSubjectReview returns the path of the review of the client's own user.
func SelfSubjectReview() Object {
	return Object{Resource: authenticationv1.SchemeGroupVersion.WithResource("selfsubjectreviews")}
}

// AccountToken returns the path of the tokens of a service account.
func AccountToken(namespace, account string) Object {
	return Object{
		Resource: corev1.SchemeGroupVersion.WithResource("serviceaccounts"), Namespace: namespace, Name: account,
		Subresource: "token",
	}
}

// ConfigMap returns the path of a ConfigMap.
func ConfigMap(namespace, name string) Object {
	return Object{Resource: corev1.SchemeGroupVersion.WithResource("configmaps"), Namespace: namespace, Name: name}
}

// Secret returns the path of one Secret, or of all in a namespace where name is empty.
func Secret(namespace, name string) Object {
	return Object{Resource: corev1.SchemeGroupVersion.WithResource("secrets"), Namespace: namespace, Name: name}
}

// Namespace returns the path of a namespace.
func Namespace(name string) Object {
	return Object{Resource: corev1.SchemeGroupVersion.WithResource("namespaces"), Name: name}
}

// Events returns the path of the events in a namespace.
func Events(namespace string) Object {
	return Object{Resource: corev1.SchemeGroupVersion.WithResource("events"), Namespace: namespace}
}

// Nodes returns the path of all nodes.
func Nodes() Object { return Object{Resource: corev1.SchemeGroupVersion.WithResource("nodes")} }

// Pods returns the path of all pods.
func Pods() Object { return Object{Resource: corev1.SchemeGroupVersion.WithResource("pods")} }

// NodeMetrics returns the path of what all nodes use.
func NodeMetrics() Object {
	return Object{Resource: schema.GroupVersionResource{Group: "metrics.k8s.io", Version: "v1beta1", Resource: "nodes"}}
}

// Scores returns the path of one AddOnPlacementScore of a cluster, or of all where name is empty.
func Scores(cluster, name string) Object {
	return Object{Resource: clusterv1alpha1.SchemeGroupVersion.WithResource("addonplacementscores"), Namespace: cluster, Name: name}
}

// ManifestWork returns the path of one work of a cluster, or of all where name is empty.
func ManifestWork(cluster, name string) Object {
	return Object{Resource: workv1.SchemeGroupVersion.WithResource("manifestworks"), Namespace: cluster, Name: name}
}

// AppliedManifestWork returns the path of one record of a member, or of all where name is empty.
func AppliedManifestWork(name string) Object {
	return Object{Resource: workv1.SchemeGroupVersion.WithResource("appliedmanifestworks"), Name: name}
}
