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
	"github.com/berth-project/berth/internal/kube/apply"
	"github.com/berth-project/berth/internal/kube/telemetry"
)

// fieldManager owns the fields of the leases that the controller creates, until an agent renews them.
const fieldManager = "berth"

// The messages of the conditions. Clients match on the first, which is OCM's.
const (
	leaseStoppedMessage = "Registration agent stopped updating its lease."
	clockSyncedMessage  = "The clock of the agent agrees with the clock of the hub."
	clockOffMessage     = "The clock of the agent differs from the clock of the hub by more than five lease periods. Set " +
		"the clock of the cluster. " +
		"The other conditions and the taints stay as they are, but the agent may not be able to write its status until the clocks agree."
)

// createLease creates the lease that the agent renews, if the decision contains it. Created is false if the cluster has no namespace,
// or its namespace is being deleted. It applies, because RBAC cannot restrict a create to a name. An apply without force never
// overwrites a renewal.
func (r *reconciler) createLease(ctx context.Context, s decisionInput, d decision) (created bool, err error) {
	if !d.createLease {
		return false, nil
	}
	lease := coordinationv1.Lease(clusterv1.ManagedClusterLeaseName, s.cluster.Name).
		WithLabels(map[string]string{clusterv1.ClusterNameLabelKey: s.cluster.Name}).
		WithSpec(coordinationv1.LeaseSpec().WithHolderIdentity(clusterv1.ManagedClusterLeaseName).WithRenewTime(metav1.NewMicroTime(s.now)))
	err = r.client.Apply(ctx, lease, client.FieldOwner(fieldManager))
	switch {
	case err == nil, apierrors.IsConflict(err): // another client created it, and the watch shows it soon
		return true, nil
	case apierrors.IsNotFound(err), apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return false, nil
	default:
		return false, fmt.Errorf("creating the lease of ManagedCluster %s: %w", s.cluster.Name, err)
	}
}

// write stores a decision and emits the events. Each write fails with a conflict if the cluster has changed since the decision.
func (r *reconciler) write(ctx context.Context, s decisionInput, d decision) error {
	cluster, err := r.writeConditions(ctx, s, d)
	if err != nil {
		return err
	}
	if d.taints.empty() {
		return nil
	}
	next := cluster.DeepCopy()
	next.Spec.Taints = d.taints.taints
	if err := r.client.Patch(ctx, next, apply.Fenced(cluster)); err != nil {
		return fmt.Errorf("writing the taints of ManagedCluster %s: %w", cluster.Name, err)
	}
	r.cache.setWritten(next, s.now)
	r.metrics.AddTaints(d.taints.added, d.taints.removed)
	log.FromContext(ctx).Info("tainted", "added", d.taints.added, "removed", d.taints.removed)
	if !s.unknown() && !d.reportUnknown { // else the event went with the condition
		r.emitHealth(next, s, s.available)
	}
	return nil
}

// writeConditions stores the changed conditions in one write, and returns the stored cluster.
func (r *reconciler) writeConditions(ctx context.Context, s decisionInput, d decision) (*clusterv1.ManagedCluster, error) {
	if !d.reportUnknown && d.clock == "" && !d.simulate && !d.endSimulation {
		return s.cluster, nil
	}
	next := s.cluster.DeepCopy()
	switch {
	case d.simulate:
		setSimulated(&next.Status.Conditions, stamp(s.now))
	case d.endSimulation:
		removeSimulated(&next.Status.Conditions)
	}
	if d.reportUnknown {
		meta.SetStatusCondition(&next.Status.Conditions, metav1.Condition{
			Type: clusterv1.ManagedClusterConditionAvailable, Status: metav1.ConditionUnknown,
			Reason: clusterv1.ReasonManagedClusterLeaseUpdateStopped, Message: leaseStoppedMessage, LastTransitionTime: stamp(s.now),
		})
	}
	if d.clock != "" {
		meta.SetStatusCondition(&next.Status.Conditions, clockCondition(d.clock, stamp(s.now)))
	}
	if err := r.client.Status().Patch(ctx, next, apply.Fenced(s.cluster)); err != nil {
		return nil, fmt.Errorf("writing the status of ManagedCluster %s: %w", next.Name, err)
	}
	r.cache.setWritten(next, s.now)
	if d.reportUnknown {
		log.FromContext(ctx).Info("the cluster stopped updating its lease")
		r.emitHealth(next, s, metav1.ConditionUnknown)
	}
	if d.clock != "" {
		log.FromContext(ctx).Info("the clock of the cluster was compared", "synced", d.clock)
		r.emit(next, s, clusterClockEvent(next.Name, d.clock))
	}
	return next, nil
}

func clockCondition(status metav1.ConditionStatus, at metav1.Time) metav1.Condition {
	out := metav1.Condition{
		Type: clusterv1.ManagedClusterConditionClockSynced, Status: status, LastTransitionTime: at,
		Reason: clusterv1.ReasonManagedClusterClockSynced, Message: clockSyncedMessage,
	}
	if status == metav1.ConditionFalse {
		out.Reason, out.Message = clusterv1.ReasonManagedClusterClockOutOfSync, clockOffMessage
	}
	return out
}

// emitHealth emits the event of a change of a cluster's health, if any.
func (r *reconciler) emitHealth(cluster *clusterv1.ManagedCluster, s decisionInput, available metav1.ConditionStatus) {
	if event, worth := availabilityEvent(cluster.Name, available); worth {
		r.emit(cluster, s, event)
	}
}

// emit emits an event in the namespace of the cluster if it exists. It emits none for a cluster that is being deleted.
func (r *reconciler) emit(cluster *clusterv1.ManagedCluster, s decisionInput, event telemetry.Event) {
	if s.deleting {
		return
	}
	about := cluster.DeepCopy()
	if s.leased {
		about.Namespace = cluster.Name
	}
	r.recorder.Eventf(about, nil, event.Type, event.Reason, event.Action, "%s", event.Note)
}
