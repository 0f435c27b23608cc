package health

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1 "k8s.io/client-go/applyconfigurations/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/telemetry"
)

// owner is who owns the fields of the leases that the loop makes, until an agent renews them.
const owner = "berth"

// stopped is the message that readers know.
const stopped = "Registration agent stopped updating its lease."

// createLease makes the lease that the agent of a cluster is to renew, if it is to get one. Made is false where the cluster has no namespace,
// or one that is going. An apply may be allowed by the name of what it makes, where a create may not; unforced, it never
// takes back what an agent has renewed.
func (r *reconciler) createLease(ctx context.Context, s situation, d decision) (made bool, err error) {
	if !d.lease {
		return false, nil
	}
	lease := coordinationv1.Lease(clusterv1.ManagedClusterLeaseName, s.cluster.Name).
		WithLabels(map[string]string{clusterv1.ClusterNameLabelKey: s.cluster.Name}).
		WithSpec(coordinationv1.LeaseSpec().WithHolderIdentity(clusterv1.ManagedClusterLeaseName).WithRenewTime(metav1.NewMicroTime(s.now)))
	err = r.client.Apply(ctx, lease, client.FieldOwner(owner))
	switch {
	case err == nil, apierrors.IsConflict(err): // somebody else made it, and the watch shows it soon
		return true, nil
	case apierrors.IsNotFound(err), apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return false, nil
	default:
		return false, fmt.Errorf("making the lease of ManagedCluster %s: %w", s.cluster.Name, err)
	}
}

// write stores what was decided on a cluster, each time fenced by the state that it was decided from, and tells of it.
func (r *reconciler) write(ctx context.Context, s situation, d decision) error {
	cluster := s.cluster
	if d.declare {
		declared, err := r.declare(ctx, s)
		if err != nil {
			return err
		}
		cluster = declared
	}
	if d.taints.empty() {
		return nil
	}
	next := cluster.DeepCopy()
	next.Spec.Taints = d.taints.taints
	if err := r.client.Patch(ctx, next, fenced(cluster)); err != nil {
		return fmt.Errorf("writing the taints of ManagedCluster %s: %w", cluster.Name, err)
	}
	r.roster.keep(next, s.now)
	r.metrics.Tainted(d.taints.added, d.taints.removed)
	log.FromContext(ctx).Info("tainted", "added", d.taints.added, "removed", d.taints.removed)
	if !s.declared() && !d.declare { // else it was told with the condition
		r.tell(next, s, s.available)
	}
	return nil
}

// declare reports that nobody knows how a cluster is, and returns it as it is stored then.
func (r *reconciler) declare(ctx context.Context, s situation) (*clusterv1.ManagedCluster, error) {
	next := s.cluster.DeepCopy()
	meta.SetStatusCondition(&next.Status.Conditions, metav1.Condition{
		Type: clusterv1.ManagedClusterConditionAvailable, Status: metav1.ConditionUnknown,
		Reason: clusterv1.ReasonManagedClusterLeaseUpdateStopped, Message: stopped, LastTransitionTime: stamp(s.now),
	})
	if err := r.client.Status().Patch(ctx, next, fenced(s.cluster)); err != nil {
		return nil, fmt.Errorf("writing the status of ManagedCluster %s: %w", next.Name, err)
	}
	r.roster.keep(next, s.now)
	log.FromContext(ctx).Info("the cluster stopped updating its lease")
	r.tell(next, s, metav1.ConditionUnknown)
	return next, nil
}

// tell emits the one event that a change of a cluster's health is worth, into the namespace of the cluster where it has
// one. Nobody is told of a cluster that is going.
func (r *reconciler) tell(cluster *clusterv1.ManagedCluster, s situation, available metav1.ConditionStatus) {
	event, worth := telemetry.DescribeHealth(cluster.Name, available)
	if !worth || s.deleting {
		return
	}
	about := cluster.DeepCopy()
	if !s.renewed.IsZero() {
		about.Namespace = cluster.Name
	}
	r.recorder.Eventf(about, nil, event.Type, event.Reason, event.Action, "%s", event.Note)
}

func fenced(before client.Object) client.Patch {
	return client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
}
