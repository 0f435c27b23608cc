package join

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/kube/apply"
	"github.com/berth-project/berth/internal/membership/registration"
	"github.com/berth-project/berth/internal/membership/registration/approval"
)

// errBeingDeleted reports a cluster that cannot be replaced any more.
var errBeingDeleted = errors.New("the cluster is being deleted: wait until it is gone, and let the other member join as a new cluster")

// Replace accepts another member under the name of a cluster, and returns the UID that it recorded: that of the member whose request
// conflicts with the recorded one. Requests of several members are an error. The hub then approves the request by its usual rules.
//
// The former member loses what it can still use. A join token of it ends, unless the new member requests with the same service account:
// then the hub ends both after it has signed. With the driver token, the service account of the former agent is deleted, which ends its
// tokens. Where no member requests to take over such a cluster, the record is cleared, and uid is empty: the next agent with a join token
// is recorded.
func Replace(ctx context.Context, hub client.Client, name string) (uid string, err error) {
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error { // the agents and the hub write the cluster as well
		uid, err = replaceMember(ctx, hub, name)
		return err
	})
	return uid, err //nolint:wrapcheck // the error is that of the last attempt
}

func replaceMember(ctx context.Context, hub client.Client, name string) (uid string, err error) {
	stored := &clusterv1.ManagedCluster{}
	if err := hub.Get(ctx, client.ObjectKey{Name: name}, stored); err != nil {
		return "", fmt.Errorf("reading ManagedCluster %s: %w", name, err)
	}
	if !stored.DeletionTimestamp.IsZero() {
		return "", fmt.Errorf("replacing the member of ManagedCluster %s: %w", name, errBeingDeleted)
	}
	next := stored.DeepCopy()
	next.Spec.HubAcceptsClient = true // the rules compare members only on an accepted cluster
	waiting, err := listWaiting(ctx, hub, map[string]*clusterv1.ManagedCluster{name: next})
	if err != nil {
		return "", err
	}
	request, err := onlyMember(next, waiting[name])
	if err != nil {
		return "", err
	}
	switch {
	case request != nil:
		if err := checkName(ctx, hub, next, request.uid()); err != nil {
			return "", err
		}
		uid = record(next, request)
	case registration.UsesToken(stored):
		delete(next.Annotations, clusterv1.ClusterUIDAnnotationKey)
	default:
		return "", noOtherMember(stored, waiting[name])
	}
	if report, ok := stored.Annotations[clusterv1.AgentTokenAnnotationKey]; ok { // that of the former agent records no member
		metav1.SetMetaDataAnnotation(&next.ObjectMeta, clusterv1.JoinedRequestAnnotationKey, report)
	}
	if err := deleteAccount(ctx, hub, stored); err != nil { // before the write that makes the hub create the account anew
		return "", err
	}
	if request == nil || request.request.Spec.Username != registration.JoinUser(name) {
		if err := deleteJoinAccount(ctx, hub, name); err != nil {
			return "", err
		}
	}
	delete(next.Annotations, clusterv1.AgentAccountAnnotationKey)
	patch := apply.Fenced(stored)
	if err := hub.Patch(ctx, next, patch, client.FieldOwner(fieldManager)); err != nil {
		return "", fmt.Errorf("recording the member of ManagedCluster %s: %w", name, err)
	}
	return uid, nil
}

// checkName returns an error where a member is another accepted cluster already.
func checkName(ctx context.Context, hub client.Client, cluster *clusterv1.ManagedCluster, uid string) error {
	var all clusterv1.ManagedClusterList
	if err := hub.List(ctx, &all); err != nil {
		return fmt.Errorf("listing ManagedClusters: %w", err)
	}
	if other := registration.OtherNameOf(uid, cluster, all.Items); other != "" {
		return fmt.Errorf("the member with the UID %q is ManagedCluster %s already: %s", uid, other, approval.OtherNameChoices(cluster.Name))
	}
	return nil
}

// record writes the member of a request on a cluster, and lets the hub approve the request.
func record(cluster *clusterv1.ManagedCluster, waiting *waitingRequest) (uid string) {
	uid = waiting.uid()
	metav1.SetMetaDataAnnotation(&cluster.ObjectMeta, clusterv1.ClusterUIDAnnotationKey, uid)
	user := waiting.request.Spec.Username
	if of, _, agent := registration.ParseAgentUser(user); !agent || of != cluster.Name { // an agent itself only renews
		registration.SetRequester(cluster, user, waiting.request.Spec.UID)
		metav1.SetMetaDataAnnotation(&cluster.ObjectMeta, clusterv1.AutoRejoinAnnotationKey, "true")
	}
	return uid
}

// noOtherMember reports that no request of another member waits, and what to do in the state of the cluster.
func noOtherMember(cluster *clusterv1.ManagedCluster, waiting []waitingRequest) error {
	name, recorded := cluster.Name, cluster.Annotations[clusterv1.ClusterUIDAnnotationKey]
	token := fmt.Sprintf("run `kubectl berth token create --cluster %s --rejoin`, start the agent of the other member with the printed "+
		"command", name)
	for i := range waiting {
		if found := &waiting[i]; recorded != "" && found.uid() == recorded {
			return fmt.Errorf("the request %s is of the recorded member %s of ManagedCluster %s, which needs no --replace: to let it join again, "+
				"run `kubectl berth token create --cluster %s --rejoin`, and start its agent with the printed command", found.request.Name, recorded,
				name, name)
		}
	}
	switch {
	case cluster.Annotations[clusterv1.JoinRequesterAnnotationKey] != "" && recorded == "":
		return fmt.Errorf("ManagedCluster %s has no recorded member, and a join token of it waits for its use: the first agent that requests "+
			"with it is recorded, once the cluster is accepted with `kubectl berth accept %s`", name, name)
	case cluster.Annotations[clusterv1.JoinRequesterAnnotationKey] != "":
		return fmt.Errorf("no other member requests the certificate of ManagedCluster %s, whose recorded member is %s: a join token of it "+
			"waits for its use; start the agent of the other member with the command that `kubectl berth token create` printed, or with another "+
			"one after --rejoin, and try again", name, recorded)
	case recorded == "":
		return fmt.Errorf("ManagedCluster %s has no recorded member, so none is replaced: %s; its request is then approved without --replace",
			name, token)
	default:
		return fmt.Errorf("no other member requests the certificate of ManagedCluster %s, whose recorded member is %s: %s, and try again; "+
			"where the other member is recorded already and its agent has no certificate, the same token lets it join", name, recorded, token)
	}
}

// replaces reports whether a request that waits is of a member that may take the place of the recorded one. Without a record, it
// is that of the holder of a join token.
func replaces(cluster *clusterv1.ManagedCluster, found *waitingRequest) bool {
	if found.reason == approval.ReasonIdentityConflict {
		return true
	}
	return cluster.Annotations[clusterv1.ClusterUIDAnnotationKey] == "" && found.uid() != "" &&
		found.request.Spec.Username == registration.JoinUser(cluster.Name) &&
		(found.reason == approval.ReasonJoined || found.reason == approval.ReasonRequesterMismatch)
}

// onlyMember returns the request of the only other member that requests the certificate of a cluster; nil without such a request.
func onlyMember(cluster *clusterv1.ManagedCluster, waiting []waitingRequest) (*waitingRequest, error) {
	var out *waitingRequest
	var lines []string
	several := false
	for i := range waiting {
		found := &waiting[i]
		if !replaces(cluster, found) {
			continue
		}
		several = several || out != nil && found.uid() != out.uid()
		out = found
		lines = append(lines, fmt.Sprintf("  %s: the member with the UID %q, by %s", found.request.Name, found.uid(),
			found.request.Spec.Username))
	}
	if several {
		slices.Sort(lines)
		return nil, fmt.Errorf("several members request the certificate of ManagedCluster %s: deny all requests but those of the right one "+
			"with kubectl certificate deny, and try again:\n%s", cluster.Name, strings.Join(lines, "\n"))
	}
	return out, nil
}

// uid returns the UID of the member that sent a request.
func (w *waitingRequest) uid() string {
	return w.request.Annotations[clusterv1.ClusterUIDAnnotationKey]
}

// deleteAccount ends the tokens of the agent of a cluster with the driver token. The hub creates the account anew.
func deleteAccount(ctx context.Context, hub client.Client, cluster *clusterv1.ManagedCluster) error {
	if !registration.UsesToken(cluster) {
		return nil
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: cluster.Name, Name: registration.AgentAccount}}
	if err := hub.Delete(ctx, account); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting the ServiceAccount %s/%s of the former agent: %w", cluster.Name, account.Name, err)
	}
	return nil
}
