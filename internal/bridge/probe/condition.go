package probe

import (
	"bytes"
	"cmp"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/bridge/probe/target"
	"github.com/berth-project/berth/internal/kube/apply"
	"github.com/berth-project/berth/internal/membership/registration"
)

func compareNames(a, b string) int { return cmp.Compare(a, b) }

// equalTargets compares what the author of a Secret sets. The session itself stores the renewed token.
func equalTargets(a, b target.Target) bool {
	return a.Server == b.Server && a.ServerName == b.ServerName && a.Token == b.Token &&
		bytes.Equal(a.CA, b.CA) && bytes.Equal(a.Cert, b.Cert) && bytes.Equal(a.Key, b.Key)
}

// wanted returns the target to read, or why nothing is read.
func (r *reconciler) wanted(cluster *clusterv1.ManagedCluster, secret *corev1.Secret) (target.Target, outcome) {
	switch {
	case secret == nil:
		return target.Target{}, outcome{reason: ReasonSecretNotUsable}
	case !cluster.DeletionTimestamp.IsZero():
		return target.Target{}, outcome{ReasonClusterNotAccepted, "the cluster is being deleted"}
	case !registration.AdmitsAgent(cluster):
		return target.Target{}, outcome{ReasonClusterNotAccepted, "the hub does not accept the cluster, or simulates it; accept it " +
			"with `kubectl berth accept " + cluster.Name + "`"}
	case !meta.IsStatusConditionTrue(cluster.Status.Conditions, clusterv1.ManagedClusterConditionHubAccepted): // no lease, no health
		return target.Target{}, outcome{ReasonClusterNotAccepted, "the cluster has no namespace and no lease yet; run the controller acceptance"}
	}
	to, err := target.Read(secret, r.allowed)
	if err != nil {
		return target.Target{}, outcome{ReasonSecretNotUsable, err.Error()}
	}
	return to, outcome{}
}

// outcome returns what a session reports of itself; the zero outcome before its first contact.
func (s *session) outcome() outcome {
	recorded, uid := s.view.identity()
	found := s.faults.current()
	switch {
	case found.reason != "":
		return found
	case uid == "":
		return outcome{}
	case recorded != "" && recorded != uid:
		return outcome{ReasonIdentityConflict, fmt.Sprintf("the Secret reaches the member with the UID %q, and the hub has "+
			"recorded %q; correct the Secret, "+
			"or delete the ManagedCluster and create it again if this member takes its place", uid, recorded)}
	case s.view.agentReports():
		return outcome{ReasonAgentReports, "an agent renews the lease, so the probe reports nothing; delete the Secret when the agent shall stay"}
	case leased{s.view}.State().Cluster == nil:
		return outcome{} // no response yet, or none for a moment
	default:
		return cmp.Or(s.faults.lasting(ReasonTokenNotRenewed), outcome{ReasonProbing, "the hub reads the member and reports it"})
	}
}

// write records the identity of the member on its cluster, and writes the condition where they differ. The zero outcome changes no
// condition.
func (r *reconciler) write(ctx context.Context, cluster *clusterv1.ManagedCluster, secret *corev1.Secret, found outcome) error {
	r.mu.Lock()
	running := r.sessions[cluster.Name]
	r.mu.Unlock()
	next := cluster.DeepCopy()
	if running != nil {
		if recorded, uid := running.view.identity(); recorded == "" && uid != "" {
			metav1.SetMetaDataAnnotation(&next.ObjectMeta, clusterv1.ClusterUIDAnnotationKey, uid)
			if err := r.client.Patch(ctx, next, apply.Fenced(cluster)); err != nil {
				return fmt.Errorf("recording the UID of the member on ManagedCluster %s: %w", cluster.Name, err)
			}
			return nil // the change brings the next reconciliation
		}
	}
	switch {
	case secret == nil:
		meta.RemoveStatusCondition(&next.Status.Conditions, clusterv1.ManagedClusterConditionProbed)
	case found.reason != "":
		meta.SetStatusCondition(&next.Status.Conditions, condition(secret.Name, found, metav1.NewTime(r.options.Clock.Now())))
	}
	if equality.Semantic.DeepEqual(next.Status.Conditions, cluster.Status.Conditions) {
		return nil
	}
	if err := r.client.Status().Patch(ctx, next, apply.Fenced(cluster)); err != nil {
		return fmt.Errorf("writing the condition %s of ManagedCluster %s: %w", clusterv1.ManagedClusterConditionProbed, cluster.Name, err)
	}
	log.FromContext(ctx).Info("the probe of the cluster changed", "reason", found.reason, "message", found.message)
	return nil
}

func condition(secret string, found outcome, now metav1.Time) metav1.Condition {
	out := metav1.Condition{
		Type: clusterv1.ManagedClusterConditionProbed, Status: metav1.ConditionFalse, Reason: found.reason,
		Message: fmt.Sprintf("Secret %s/%s: %s", Namespace, secret, found.message), LastTransitionTime: now,
	}
	if found.reason == ReasonProbing || found.reason == ReasonTokenNotRenewed {
		out.Status = metav1.ConditionTrue
	}
	return out
}
