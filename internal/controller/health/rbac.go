package health

// What the loop may do, from which config/rbac is generated. It reads and makes leases of one name only. The right to the
// taints is asked for by the webhook, see internal/webhook/managedcluster.
//
// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=managedclusters,verbs=list;watch;patch
// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=managedclusters/status,verbs=patch
// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=managedclusters/taint,verbs=update
// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=managedclustersets,verbs=list;watch
// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=managedclustersets/status,verbs=patch
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,resourceNames=managed-cluster-lease,verbs=list;watch;create;patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
