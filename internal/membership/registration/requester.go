package registration

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
)

// SetRequester records on a cluster whose first certificate request is approved. uid is the UID of the user; empty where it has none.
func SetRequester(cluster *clusterv1.ManagedCluster, user, uid string) {
	metav1.SetMetaDataAnnotation(&cluster.ObjectMeta, clusterv1.JoinRequesterAnnotationKey, user)
	delete(cluster.Annotations, clusterv1.JoinRequesterUIDAnnotationKey)
	if uid != "" {
		cluster.Annotations[clusterv1.JoinRequesterUIDAnnotationKey] = uid
	}
}

// ClearRequester removes the record of a requester whose request was approved, and with it the permission to join again.
func ClearRequester(cluster *clusterv1.ManagedCluster) {
	delete(cluster.Annotations, clusterv1.JoinRequesterAnnotationKey)
	delete(cluster.Annotations, clusterv1.JoinRequesterUIDAnnotationKey)
	delete(cluster.Annotations, clusterv1.AutoRejoinAnnotationKey)
}
