package join

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
)

// deletionPoll is the time between two looks at a deletion.
const deletionPoll = time.Second

// Delete deletes a cluster from a hub and waits until it is gone. The cluster records what becomes of its workloads, as
// clusterv1.OnDeleteAnnotationKey has it. After the timeout the error names what delays the deletion, which goes on.
func Delete(ctx context.Context, hub client.Client, name, onDelete string, timeout time.Duration) error {
	cluster := &clusterv1.ManagedCluster{}
	key := client.ObjectKey{Name: name}
	if err := hub.Get(ctx, key, cluster); err != nil {
		return fmt.Errorf("reading ManagedCluster %s: %w", name, err)
	}
	uid := cluster.UID
	if cluster.Annotations[clusterv1.OnDeleteAnnotationKey] != onDelete {
		change := fmt.Appendf(nil, `{"metadata":{"uid":%q,"annotations":{%q:%q}}}`, uid, clusterv1.OnDeleteAnnotationKey, onDelete)
		if err := hub.Patch(ctx, cluster, client.RawPatch(types.MergePatchType, change), client.FieldOwner(fieldManager)); err != nil {
			return fmt.Errorf("recording on ManagedCluster %s what becomes of its workloads: %w", name, err)
		}
	}
	if err := hub.Delete(ctx, cluster, client.Preconditions{UID: &uid}); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting ManagedCluster %s: %w", name, err)
	}
	err := wait.PollUntilContextTimeout(ctx, deletionPoll, timeout, true, func(ctx context.Context) (bool, error) {
		err := hub.Get(ctx, key, cluster)
		return apierrors.IsNotFound(err) || err == nil && cluster.UID != uid, client.IgnoreNotFound(err)
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		delay := "no controller has reported why"
		if found := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1.ManagedClusterConditionDeleting); found != nil {
			delay = found.Message
		}
		return fmt.Errorf("ManagedCluster %s is still being deleted after %s: %s", name, timeout, delay)
	}
	if err != nil {
		return fmt.Errorf("waiting for the end of ManagedCluster %s: %w", name, err)
	}
	return nil
}

// Uninstall removes what Install applied to a member. The definition of records stays, and so do roles of other names for executors.
func Uninstall(ctx context.Context, member client.Client) error {
	if err := denyWorks(ctx, member, recordsFile, boundFile, adminFile); err != nil {
		return err
	}
	if err := unguardRecords(ctx, member); err != nil {
		return err
	}
	shared := metav1.ObjectMeta{Name: agentRole}
	for _, object := range []client.Object{
		&rbacv1.ClusterRoleBinding{ObjectMeta: shared}, &rbacv1.ClusterRole{ObjectMeta: shared},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: AgentNamespace}},
	} {
		if err := member.Delete(ctx, object); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting %T %s from the member: %w", object, object.GetName(), err)
		}
	}
	return nil
}
