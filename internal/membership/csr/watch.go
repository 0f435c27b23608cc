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
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/kube/changes"
	"github.com/berth-project/berth/internal/membership/registration"
)

// requestsByCluster is the index of certificate requests by the cluster in their label.
const requestsByCluster = "csr.cluster"

// clustersByMember is the index of clusters by the UID of their recorded member.
const clustersByMember = "csr.member"

// maxOfMember bounds the clusters of one member that are looked at again when one of them changes.
const maxOfMember = 20

func (r *reconciler) watch(ctx context.Context, mgr manager.Manager) error {
	if err := mgr.GetFieldIndexer().IndexField(ctx, &certificatesv1.CertificateSigningRequest{}, requestsByCluster, clusterLabel); err != nil {
		return fmt.Errorf("indexing certificate requests by cluster: %w", err)
	}
	if err := mgr.GetFieldIndexer().IndexField(ctx, &clusterv1.ManagedCluster{}, clustersByMember, memberOf); err != nil {
		return fmt.Errorf("indexing clusters by member: %w", err)
	}
	return builder.ControllerManagedBy(mgr).
		Named(Name).
		For(&clusterv1.ManagedCluster{}, builder.WithPredicates(relevant())).
		Watches(&clusterv1.ManagedCluster{}, handler.EnqueueRequestsFromMapFunc(r.otherNames), builder.WithPredicates(relevant())).
		Watches(&certificatesv1.CertificateSigningRequest{}, handler.EnqueueRequestsFromMapFunc(clusterOf)).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(r)
}

// memberOf returns the UID of the recorded member of a cluster, if any.
func memberOf(object client.Object) []string {
	if uid := object.GetAnnotations()[clusterv1.ClusterUIDAnnotationKey]; uid != "" {
		return []string{uid}
	}
	return nil
}

// otherNames returns the other clusters with the recorded member of a cluster.
func (r *reconciler) otherNames(ctx context.Context, object client.Object) []reconcile.Request {
	var out []reconcile.Request
	for _, uid := range memberOf(object) {
		list := &clusterv1.ManagedClusterList{}
		if err := r.client.List(ctx, list, client.MatchingFields{clustersByMember: uid}, client.UnsafeDisableDeepCopy); err != nil {
			log.FromContext(ctx).Error(err, "the clusters of a member were not listed", "uid", uid)
		}
		for i := range list.Items {
			if name := list.Items[i].Name; name != object.GetName() && len(out) < maxOfMember {
				out = append(out, reconcile.Request{NamespacedName: types.NamespacedName{Name: name}})
			}
		}
	}
	return out
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
	shared                     string
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
		shared: cluster.Annotations[registration.SharedIdentityAnnotationKey],
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
