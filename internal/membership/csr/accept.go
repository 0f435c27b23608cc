package csr

import (
	"context"
	"fmt"
	"slices"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/kube/apply"
	"github.com/berth-project/berth/internal/membership/registration"
	"github.com/berth-project/berth/internal/membership/registration/approval"
	"github.com/berth-project/berth/internal/membership/registration/autoaccept"
)

// acceptByRule accepts the cluster of a request that waits for this, where a rule accepts it. It records the requester, whose request is
// then approved by the usual rules. A bootstrap identity that clusters share is not recorded, so its request waits for an
// administrator.
func (p *pass) acceptByRule(ctx context.Context, csr *certificatesv1.CertificateSigningRequest, decision approval.Decision) error {
	if p.cluster == nil || decision.Reason != approval.ReasonNotAccepted {
		return nil
	}
	at := slices.IndexFunc(p.reconciler.rules, func(rule autoaccept.Rule) bool { return rule.Accepts(p.cluster, csr) })
	if at < 0 {
		return nil
	}
	rule, next := p.reconciler.rules[at], p.cluster.DeepCopy()
	next.Spec.HubAcceptsClient = true
	metav1.SetMetaDataAnnotation(&next.ObjectMeta, clusterv1.ClusterAcceptedAnnotationKey,
		p.reconciler.options.Clock.Now().UTC().Format(time.RFC3339))
	if !approval.SharedBootstrap(csr.Spec) {
		registration.SetRequester(next, csr.Spec.Username, csr.Spec.UID)
	}
	if err := p.reconciler.client.Patch(ctx, next, apply.Fenced(p.cluster)); err != nil {
		return fmt.Errorf("accepting ManagedCluster %s by the rule %q: %w", p.name, rule, err)
	}
	p.cluster = next
	log.FromContext(ctx).Info("accepted the cluster by a rule", "rule", rule.String(), "requester", csr.Spec.Username, "request", csr.Name)
	p.emit(autoAcceptedEvent(p.name, csr.Spec.Username, rule.String()))
	return nil
}
