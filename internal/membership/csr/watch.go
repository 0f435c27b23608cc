package csr

import (
	"context"
	"fmt"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/kube/changes"
	"github.com/berth-project/berth/internal/membership/registration"
)

// requestsByCluster is the index of certificate requests by the cluster in their label.
const requestsByCluster = "csr.cluster"

func (r *reconciler) watch(ctx context.Context, mgr manager.Manager) error {
	if err := mgr.GetFieldIndexer().IndexField(ctx, &certificatesv1.CertificateSigningRequest{}, requestsByCluster, clusterLabel); err != nil {
		return fmt.Errorf("indexing certificate requests by cluster: %w", err)
	}
	return builder.ControllerManagedBy(mgr).
		Named(Name).
		For(&clusterv1.ManagedCluster{}, builder.WithPredicates(relevant())).
		Watches(&certificatesv1.CertificateSigningRequest{}, handler.EnqueueRequestsFromMapFunc(clusterOf)).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(r)
}

func clusterLabel(object client.Object) []string {
	if cluster := object.GetLabels()[clusterv1.ClusterNameLabelKey]; cluster != "" {
		return []string{cluster}
	}
	return nil
}

// clusterOf returns the cluster in the label of a request, if any.
func clusterOf(_ context.Context, object client.Object) []reconcile.Request {
	var out []reconcile.Request
	for _, cluster := range clusterLabel(object) {
		out = append(out, reconcile.Request{NamespacedName: types.NamespacedName{Name: cluster}})
	}
	return out
}

// relevant passes the changes of a cluster that may change a decision on its requests. Heartbeats do not.
func relevant() predicate.Predicate {
	return changes.Of(func(before, after *clusterv1.ManagedCluster) bool { return facts(before) != facts(after) })
}

// clusterFacts are the parts of a cluster that a decision reads.
type clusterFacts struct {
	generation                 int64
	deleting                   bool
	requester, account         string
	uid, rejoin, member        string
	driver, report, joinedBy   string
	accepted, joined, conflict metav1.ConditionStatus
	acceptedReason             string
}

func facts(cluster *clusterv1.ManagedCluster) clusterFacts {
	out := clusterFacts{
		generation: cluster.Generation, deleting: !cluster.DeletionTimestamp.IsZero(),
		requester: cluster.Annotations[clusterv1.JoinRequesterAnnotationKey],
		account:   cluster.Annotations[clusterv1.JoinRequesterUIDAnnotationKey],
		uid:       cluster.Annotations[clusterv1.ClusterUIDAnnotationKey], rejoin: cluster.Annotations[clusterv1.AutoRejoinAnnotationKey],
		member: cluster.Annotations[registration.AgentUIDAnnotationKey],
		driver: cluster.Annotations[clusterv1.DriverAnnotationKey], report: cluster.Annotations[clusterv1.AgentTokenAnnotationKey],
		joinedBy: cluster.Annotations[clusterv1.JoinedRequestAnnotationKey],
	}
	status := func(kind string) (status metav1.ConditionStatus, reason string) {
		if found := meta.FindStatusCondition(cluster.Status.Conditions, kind); found != nil {
			return found.Status, found.Reason
		}
		return "", ""
	}
	out.accepted, out.acceptedReason = status(clusterv1.ManagedClusterConditionHubAccepted)
	out.joined, _ = status(clusterv1.ManagedClusterConditionJoined)
	out.conflict, _ = status(clusterv1.ManagedClusterConditionIdentityConflict)
	return out
}
