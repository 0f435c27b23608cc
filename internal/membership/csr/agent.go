package csr

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/log"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/kube/apply"
	"github.com/berth-project/berth/internal/membership/registration"
	"github.com/berth-project/berth/internal/membership/registration/approval"
)

// recordAgent records the agent whose first certificate an administrator approved. The hub records the agents of its own approvals before
// it approves.
func (p *pass) recordAgent(ctx context.Context, requests []*certificatesv1.CertificateSigningRequest) error {
	if p.cluster == nil || registration.UsesToken(p.cluster) {
		return nil
	}
	next := p.cluster.DeepCopy()
	if !setAgent(next, requests) {
		return nil
	}
	if err := p.reconciler.client.Patch(ctx, next, apply.Fenced(p.cluster)); err != nil {
		return fmt.Errorf("recording the agent of ManagedCluster %s: %w", p.name, err)
	}
	p.cluster = next
	log.FromContext(ctx).Info("recorded the agent of the cluster", "agent", next.Annotations[clusterv1.AgentNameAnnotationKey])
	return nil
}

// recordMember records the member that the agent of a cluster reports, where the hub has no record. The record is of the hub: no agent can
// write or change it.
func (p *pass) recordMember(ctx context.Context) error {
	if p.cluster == nil {
		return nil
	}
	uid := registration.MemberToRecord(p.cluster)
	if uid == "" {
		return nil
	}
	next := p.cluster.DeepCopy()
	next.Annotations[clusterv1.ClusterUIDAnnotationKey] = uid
	if err := p.reconciler.client.Patch(ctx, next, apply.Fenced(p.cluster)); err != nil {
		return fmt.Errorf("recording the UID of the member on ManagedCluster %s: %w", p.name, err)
	}
	p.cluster = next
	log.FromContext(ctx).Info("recorded the member that the agent of the cluster reports", "uid", uid)
	return nil
}

// setAgent writes on a cluster the agent of the first certificate that was approved last, once for each request, and reports whether that
// changed the cluster. Without such a request or a record, it writes the agent whose renewal was approved last: the cluster joined before
// agents were recorded.
func setAgent(cluster *clusterv1.ManagedCluster, requests []*certificatesv1.CertificateSigningRequest) bool {
	approved := slices.DeleteFunc(slices.Clone(requests), func(request *certificatesv1.CertificateSigningRequest) bool {
		return approvedAt(request).IsZero()
	})
	slices.SortFunc(approved, func(a, b *certificatesv1.CertificateSigningRequest) int {
		return cmp.Or(approvedAt(b).Compare(approvedAt(a)), laterWritten(b, a), cmp.Compare(a.Name, b.Name))
	})
	renews := ""
	for _, request := range approved {
		if agent, ok := approval.FirstAgent(request, cluster.Name); ok {
			if cluster.Annotations[clusterv1.JoinedRequestAnnotationKey] == string(request.UID) {
				return false
			}
			metav1.SetMetaDataAnnotation(&cluster.ObjectMeta, clusterv1.AgentNameAnnotationKey, agent)
			metav1.SetMetaDataAnnotation(&cluster.ObjectMeta, clusterv1.JoinedRequestAnnotationKey, string(request.UID))
			return true
		}
		if of, agent, ok := registration.ParseAgentUser(request.Spec.Username); ok && of == cluster.Name && renews == "" {
			renews = agent
		}
	}
	if renews == "" || cluster.Annotations[clusterv1.AgentNameAnnotationKey] != "" {
		return false
	}
	metav1.SetMetaDataAnnotation(&cluster.ObjectMeta, clusterv1.AgentNameAnnotationKey, renews)
	return true
}

// laterWritten compares the last writes of two requests, because the time of an approval has seconds only.
func laterWritten(a, b *certificatesv1.CertificateSigningRequest) int {
	order, err := resourceversion.CompareResourceVersion(a.ResourceVersion, b.ResourceVersion)
	if err != nil {
		return 0
	}
	return order
}

// approvedAt returns when a request was approved; zero where it is not, or was denied or failed as well.
func approvedAt(request *certificatesv1.CertificateSigningRequest) time.Time {
	var out time.Time
	for _, condition := range request.Status.Conditions {
		if condition.Type != certificatesv1.CertificateApproved {
			return time.Time{}
		}
		out = condition.LastUpdateTime.Time
		if out.IsZero() {
			out = request.CreationTimestamp.Time
		}
	}
	return out
}
