package acceptance

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/kube/apply"
	"github.com/berth-project/berth/internal/kube/telemetry"
	"github.com/berth-project/berth/internal/membership/registration"
)

// ensureAccount gives the agent of a cluster with the driver token its service account, and withdraws the account where the driver is
// another. The agent renews its token with the account, and obtains the first one with the join token. An account that was deleted is not
// created again.
func (i input) ensureAccount() []write {
	if !registration.UsesToken(i.cluster) {
		return slices.Concat(remove(i.accountBinding), remove(i.account))
	}
	var out []write
	if i.account == nil && !i.revoked() {
		out = []write{{after: &corev1.ServiceAccount{
			ObjectMeta:                   objectMeta(i.cluster.Name, registration.AgentAccount, i.cluster.Name),
			AutomountServiceAccountToken: new(false),
		}}}
	}
	return append(out, ensureRoleBinding(i.accountBinding, accountBinding(i.cluster))...)
}

// revoked reports whether the service account of the agent was deleted.
func (i input) revoked() bool {
	return i.account == nil && registration.AccountRecorded(i.cluster)
}

// acceptance returns the condition of an accepted cluster and its event.
func (i input) acceptance() (*metav1.Condition, telemetry.Event) {
	reason, message, event := clusterv1.ReasonHubClusterAdminAccepted, acceptedMessage, acceptedEvent(i.cluster.Name)
	if i.revoked() {
		reason, message = clusterv1.ReasonAgentRevoked, fmt.Sprintf(revokedMessage, i.cluster.Name)
		event = agentRevokedEvent(i.cluster.Name)
	}
	return i.condition(clusterv1.ManagedClusterConditionHubAccepted, metav1.ConditionTrue, reason, message), event
}

// accountBinding lets the agent renew its token. Until the agent has joined, it lets the join token request the first one.
func accountBinding(cluster *clusterv1.ManagedCluster) *rbacv1.RoleBinding {
	out := &rbacv1.RoleBinding{
		ObjectMeta: objectMeta(cluster.Name, registration.AccountBinding, cluster.Name), RoleRef: roleRef(registration.AccountRole),
	}
	out.Subjects = []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: cluster.Name, Name: registration.AgentAccount}}
	if _, _, joined := registration.JoinedByToken(cluster); registration.JoinsByToken(cluster) && !joined {
		out.Subjects = append(out.Subjects, rbacv1.Subject{
			Kind: rbacv1.ServiceAccountKind, Namespace: registration.JoinNamespace,
			Name: cluster.Name,
		})
	}
	return out
}

// readAccount reads the service account of an agent and its binding, past the cache: few clusters have them. A cached
// binding shows that a cluster of another driver still has them.
func (r *reconciler) readAccount(ctx context.Context, in *input) error {
	name := in.cluster.Name
	key := client.ObjectKey{Namespace: name, Name: registration.AccountBinding}
	if err := r.client.Get(ctx, key, newRoleBinding()); err != nil && !registration.UsesToken(in.cluster) {
		return client.IgnoreNotFound(err) //nolint:wrapcheck // the cache only fails where the manager stops
	}
	binding, account := newRoleBinding(), &corev1.ServiceAccount{}
	if err := r.live.Get(ctx, key, binding); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading RoleBinding %s: %w", key, err)
	} else if err == nil {
		in.accountBinding = binding
	}
	key.Name = registration.AgentAccount
	if err := r.live.Get(ctx, key, account); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading ServiceAccount %s: %w", key, err)
	} else if err == nil {
		in.account = account
	}
	return nil
}

// recordAccount records the service account of the agent, so that its deletion lasts. It drops the record of another driver.
func (r *reconciler) recordAccount(ctx context.Context, cluster *clusterv1.ManagedCluster, writes []write,
	stored *corev1.ServiceAccount,
) error {
	uid, recorded := "", cluster.Annotations[clusterv1.AgentAccountAnnotationKey]
	for _, w := range writes {
		if created, ok := w.after.(*corev1.ServiceAccount); ok && w.before == nil {
			stored = created
		}
	}
	switch {
	case !registration.UsesToken(cluster):
	case stored == nil:
		return nil
	default:
		uid = string(stored.UID)
	}
	if uid == recorded {
		return nil
	}
	before := cluster.DeepCopy()
	metav1.SetMetaDataAnnotation(&cluster.ObjectMeta, clusterv1.AgentAccountAnnotationKey, uid)
	if uid == "" {
		delete(cluster.Annotations, clusterv1.AgentAccountAnnotationKey)
	}
	if err := r.client.Patch(ctx, cluster, apply.Fenced(before)); err != nil {
		return fmt.Errorf("recording the service account of ManagedCluster %s: %w", cluster.Name, err)
	}
	return nil
}

// recordJoin records the member whose agent has joined by a token, and uses up the join token.
func (r *reconciler) recordJoin(ctx context.Context, cluster *clusterv1.ManagedCluster) error {
	uid, report, joined := registration.JoinedByToken(cluster)
	if !joined || !registration.AdmitsAgent(cluster) {
		return nil
	}
	before := cluster.DeepCopy()
	metav1.SetMetaDataAnnotation(&cluster.ObjectMeta, clusterv1.ClusterUIDAnnotationKey, uid)
	metav1.SetMetaDataAnnotation(&cluster.ObjectMeta, clusterv1.JoinedRequestAnnotationKey, report)
	registration.ClearRequester(cluster)
	if err := r.client.Patch(ctx, cluster, apply.Fenced(before)); err != nil {
		return fmt.Errorf("recording the member of ManagedCluster %s: %w", cluster.Name, err)
	}
	log.FromContext(ctx).Info("the agent joined by a token, and the join token is used up", "member", uid)
	return nil
}
