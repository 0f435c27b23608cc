package join

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/kube/apply"
	"github.com/berth-project/berth/internal/membership/registration"
)

// ShareIdentity records that the member of a cluster may have the UID of another one.
func ShareIdentity(ctx context.Context, hub client.Client, name string) error {
	stored := &clusterv1.ManagedCluster{}
	if err := hub.Get(ctx, client.ObjectKey{Name: name}, stored); err != nil {
		return fmt.Errorf("reading ManagedCluster %s: %w", name, err)
	}
	patch := client.MergeFrom(stored.DeepCopy())
	metav1.SetMetaDataAnnotation(&stored.ObjectMeta, registration.SharedIdentityAnnotationKey, "true")
	if err := hub.Patch(ctx, stored, patch, client.FieldOwner(fieldManager)); err != nil {
		return fmt.Errorf("changing ManagedCluster %s: %w", name, err)
	}
	return nil
}

// SetAccepted accepts or denies a cluster, and returns whether that changed anything. To accept a cluster whose agent was revoked, by the
// deletion of its service account, lets the hub create another account.
func SetAccepted(ctx context.Context, hub client.Client, name string, accepted bool) (changed bool, err error) {
	stored := &clusterv1.ManagedCluster{}
	if err := hub.Get(ctx, client.ObjectKey{Name: name}, stored); err != nil {
		return false, fmt.Errorf("reading ManagedCluster %s: %w", name, err)
	}
	revoked, err := accountDeleted(ctx, hub, stored)
	if err != nil {
		return false, err
	}
	revoked = revoked && accepted
	if stored.Spec.HubAcceptsClient == accepted && !revoked {
		return false, nil
	}
	next := stored.DeepCopy()
	if revoked {
		delete(next.Annotations, clusterv1.AgentAccountAnnotationKey) // the hub creates another
	}
	next.Spec.HubAcceptsClient = accepted
	patch := apply.Fenced(stored)
	if err := hub.Patch(ctx, next, patch, client.FieldOwner(fieldManager)); err != nil {
		return false, fmt.Errorf("changing ManagedCluster %s: %w", name, err)
	}
	return true, nil
}

// accountDeleted reports whether the service account of the agent of a cluster was deleted, which revokes the agent.
func accountDeleted(ctx context.Context, hub client.Client, cluster *clusterv1.ManagedCluster) (bool, error) {
	if !registration.AccountRecorded(cluster) {
		return false, nil
	}
	key := client.ObjectKey{Namespace: cluster.Name, Name: registration.AgentAccount}
	err := hub.Get(ctx, key, &corev1.ServiceAccount{})
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("reading the ServiceAccount %s: %w", key, err)
	}
	return err != nil, nil
}

// Pending is a cluster that waits for a decision or for its agent.
type Pending struct {
	Cluster string
	// Reason is what is missing: the acceptance, the agent, or both.
	Reason string
	// Requester is the user whose first certificate request is approved; empty without a join token.
	Requester string
}

// ListPending returns the clusters that have not joined yet or whose agents wait for a certificate, by name. Simulated clusters
// wait for nothing.
func ListPending(ctx context.Context, hub client.Client) ([]Pending, error) {
	var list clusterv1.ManagedClusterList
	if err := hub.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("listing ManagedClusters: %w", err)
	}
	clusters := map[string]*clusterv1.ManagedCluster{}
	for i := range list.Items {
		clusters[list.Items[i].Name] = &list.Items[i]
	}
	waiting, err := listWaiting(ctx, hub, clusters)
	if err != nil {
		return nil, err
	}
	var out []Pending
	for _, cluster := range clusters {
		reason := pendingReason(cluster)
		if requests := waiting[cluster.Name]; len(requests) > 0 && cluster.Spec.HubAcceptsClient {
			reason = fmt.Sprintf("request %s: %s", requests[0].request.Name, requests[0].message)
		}
		if reason != "" {
			out = append(out, Pending{cluster.Name, reason, cluster.Annotations[clusterv1.JoinRequesterAnnotationKey]})
		}
	}
	slices.SortFunc(out, func(a, b Pending) int { return strings.Compare(a.Cluster, b.Cluster) })
	return out, nil
}

// pendingReason returns what a cluster waits for; empty when it has joined or is simulated.
func pendingReason(cluster *clusterv1.ManagedCluster) string {
	switch {
	case registration.SimulationRequested(cluster) || !cluster.DeletionTimestamp.IsZero():
		return ""
	case !cluster.Spec.HubAcceptsClient:
		return "not accepted"
	case meta.IsStatusConditionTrue(cluster.Status.Conditions, clusterv1.ManagedClusterConditionIdentityConflict):
		return "its member has another name, or another member requests this name"
	case revoked(cluster):
		return "the agent is revoked: its service account was deleted"
	case !registration.Reported(cluster):
		return "the agent has not reported"
	}
	return ""
}

// revoked reports whether the hub has reported that the agent of a cluster is revoked.
func revoked(cluster *clusterv1.ManagedCluster) bool {
	found := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1.ManagedClusterConditionHubAccepted)
	return found != nil && found.Reason == clusterv1.ReasonAgentRevoked
}
