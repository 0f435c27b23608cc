package csr

import (
	"context"
	"fmt"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/membership/registration"
)

// fetchTime is how long after its approval an agent may read its certificate with the join token.
const fetchTime = 5 * time.Minute

// usedJoinToken returns the signed request that used up the join token of a cluster, and how long its agent may still read the
// certificate; nil without such a request. A cluster that waits for another join has none: the newer token may be of the same account.
func usedJoinToken(
	cluster *clusterv1.ManagedCluster, requests []*certificatesv1.CertificateSigningRequest, now time.Time,
) (*certificatesv1.CertificateSigningRequest, time.Duration) {
	if cluster == nil || cluster.Annotations[clusterv1.JoinRequesterAnnotationKey] != "" {
		return nil, 0
	}
	for _, request := range requests {
		if cluster.Annotations[clusterv1.JoinedRequestAnnotationKey] == string(request.UID) && request.Spec.UID != "" &&
			len(request.Status.Certificate) > 0 &&
			request.Spec.Username == registration.JoinUser(cluster.Name) {
			return request, max(0, approvedAt(request).Add(fetchTime).Sub(now))
		}
	}
	return nil, 0
}

// endJoinToken deletes the service account of the join token once its certificate was signed and read, which ends the token. An account
// with another UID is that of a newer token, and stays.
func (p *pass) endJoinToken(ctx context.Context, requests []*certificatesv1.CertificateSigningRequest) error {
	request, wait := usedJoinToken(p.cluster, requests, p.reconciler.options.Clock.Now())
	switch {
	case request == nil || p.ended(request.UID):
		return nil
	case wait > 0:
		if p.retry == 0 || wait < p.retry {
			p.retry = wait
		}
		return nil
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: registration.JoinNamespace, Name: p.name}}
	err := p.reconciler.client.Delete(ctx, account, client.Preconditions{UID: new(types.UID(request.Spec.UID))})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("deleting the ServiceAccount %s/%s of a join token: %w", account.Namespace, account.Name, err)
	}
	if err == nil {
		log.FromContext(ctx).Info("ended the join token of the cluster, which has its certificate", "request", request.Name)
	}
	p.setEnded(request.UID)
	return nil
}

// ended returns whether the join token of a request has ended.
func (p *pass) ended(request types.UID) bool {
	p.reconciler.mu.Lock()
	defer p.reconciler.mu.Unlock()
	return p.reconciler.endedTokens[p.name] == request
}

func (p *pass) setEnded(request types.UID) {
	p.reconciler.mu.Lock()
	defer p.reconciler.mu.Unlock()
	p.reconciler.endedTokens[p.name] = request
}
