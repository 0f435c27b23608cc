package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
)

// GroupName is the API group of the views.
const GroupName = "view.cluster.open-cluster-management.io"

var (
	// SchemeGroupVersion is the group and version that the views are served under. Sets are stored as v1beta2 and
	// clusters as v1; the views have one version for both, so that one registration and one discovery document do.
	SchemeGroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1"}

	schemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

	// AddToScheme registers the views with a scheme that holds no stored sets and clusters.
	AddToScheme = schemeBuilder.AddToScheme
)

// Resource qualifies a resource name, such as "managedclusters", with this API group.
func Resource(resource string) schema.GroupResource {
	return SchemeGroupVersion.WithResource(resource).GroupResource()
}

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(SchemeGroupVersion,
		&clusterv1.ManagedCluster{},
		&clusterv1.ManagedClusterList{},
		&clusterv1beta2.ManagedClusterSet{},
		&clusterv1beta2.ManagedClusterSetList{},
	)
	metav1.AddToGroupVersion(scheme, SchemeGroupVersion)
	return nil
}
