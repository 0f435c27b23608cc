package join

import (
	"context"
	"fmt"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/membership/registration"
	"github.com/berth-project/berth/internal/membership/registration/approval"
)

const (
	// maxRequests is how many certificate requests are read.
	maxRequests = 1000
	// approvedReason is the reason on requests that an administrator approves by accepting the cluster.
	approvedReason = "ApprovedWithCluster"
)

// waitingRequest is a certificate request that the hub does not approve by itself.
type waitingRequest struct {
	request         certificatesv1.CertificateSigningRequest
	reason, message string
}

// listWaiting returns the requests that wait, by cluster. The rules are those of the hub.
func listWaiting(ctx context.Context, hub client.Client, clusters map[string]*clusterv1.ManagedCluster) (map[string][]waitingRequest,
	error,
) {
	out, err := listOpen(ctx, hub, clusters)
	for name, found := range out {
		if out[name] = slices.DeleteFunc(found, func(w waitingRequest) bool { return w.reason == "" }); len(out[name]) == 0 {
			delete(out, name)
		}
	}
	return out, err
}

// listOpen returns the requests that wait or are about to be approved, by cluster. The latter have no reason.
func listOpen(ctx context.Context, hub client.Client, clusters map[string]*clusterv1.ManagedCluster) (map[string][]waitingRequest,
	error,
) {
	var all clusterv1.ManagedClusterList
	if err := hub.List(ctx, &all); err != nil {
		return nil, fmt.Errorf("listing ManagedClusters: %w", err)
	}
	var list certificatesv1.CertificateSigningRequestList
	if err := hub.List(ctx, &list, client.HasLabels{clusterv1.ClusterNameLabelKey}, client.Limit(maxRequests)); err != nil {
		return nil, fmt.Errorf("listing certificate requests: %w", err)
	}
	out := map[string][]waitingRequest{}
	for i := range list.Items {
		request := list.Items[i]
		cluster := clusters[request.Labels[clusterv1.ClusterNameLabelKey]]
		if cluster == nil {
			continue
		}
		other := registration.OtherNameOf(request.Annotations[clusterv1.ClusterUIDAnnotationKey], cluster, all.Items)
		found := approval.Decide(approval.Input{
			Request: &request, Cluster: asGranted(cluster), OtherName: other, MaxDuration: approval.DefaultMaxDuration,
		})
		if found.Action == approval.Wait || found.Action == approval.Approve {
			out[cluster.Name] = append(out[cluster.Name], waitingRequest{request, found.Reason, found.Message})
		}
	}
	return out, nil
}

// asGranted returns an accepted cluster as it is once the hub has granted its permissions, which takes a moment.
func asGranted(cluster *clusterv1.ManagedCluster) *clusterv1.ManagedCluster {
	if !cluster.Spec.HubAcceptsClient {
		return cluster
	}
	out := cluster.DeepCopy()
	meta.SetStatusCondition(&out.Status.Conditions, metav1.Condition{
		Type: clusterv1.ManagedClusterConditionHubAccepted, Status: metav1.ConditionTrue, Reason: clusterv1.ReasonHubClusterAdminAccepted,
	})
	return out
}

// ApproveShared approves the request of a cluster whose agent has the bootstrap identity that all clusters of Open Cluster
// Management share, and returns its name; empty without such a request. Several such requests are an error, because one of
// them may be from another cluster.
func ApproveShared(ctx context.Context, hub client.Client, name string) (approved string, err error) {
	cluster := &clusterv1.ManagedCluster{}
	if err := hub.Get(ctx, client.ObjectKey{Name: name}, cluster); err != nil {
		return "", fmt.Errorf("reading ManagedCluster %s: %w", name, err)
	}
	waiting, err := listWaiting(ctx, hub, map[string]*clusterv1.ManagedCluster{name: cluster})
	if err != nil {
		return "", err
	}
	shared := slices.DeleteFunc(waiting[name], func(w waitingRequest) bool { return w.reason != approval.ReasonSharedIdentity })
	switch len(shared) {
	case 0:
		return "", nil
	case 1:
	default:
		var names []string
		for _, w := range shared {
			names = append(names, w.request.Name)
		}
		return "", fmt.Errorf("%d agents request the certificate of ManagedCluster %s: approve the right one with kubectl certificate "+
			"approve, and deny the others: %s",
			len(shared), name, strings.Join(names, ", "))
	}
	request := &shared[0].request
	request.Status.Conditions = append(request.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
		Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: approvedReason,
		Message: "An administrator accepted the cluster with kubectl berth accept", LastUpdateTime: metav1.Now(),
	})
	if err := hub.SubResource("approval").Update(ctx, request); err != nil {
		return "", fmt.Errorf("approving the certificate request %s: %w", request.Name, err)
	}
	return request.Name, nil
}
