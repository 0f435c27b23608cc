package csr

import (
	"context"
	"fmt"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/kube/apply"
	"github.com/berth-project/berth/internal/kube/telemetry"
	"github.com/berth-project/berth/internal/membership/registration"
	"github.com/berth-project/berth/internal/membership/registration/approval"
)

// approvedReason is the reason on approved requests. Clients of Open Cluster Management match on it.
const approvedReason = "AutoApprovedByHubCSRApprovingController"

// The reasons of the condition ClusterIdentityConflict.
const (
	reasonConflict   = "AnotherMember"
	reasonOtherName  = "AnotherName"
	reasonNoConflict = "NoConflict"
	noConflict       = "No other member requests or reports this cluster, and its member has no other name"
)

// pass is one pass over the open requests of a cluster.
type pass struct {
	reconciler *reconciler

	name string
	// cluster is nil where it does not exist. It is the latest stored version.
	cluster *clusterv1.ManagedCluster
	// waiting counts the requests that stay open. conflict is the message about another member, from its report or its first request, or about
	// another name of the recorded member; reason is why.
	waiting          int
	conflict, reason string
	retry            time.Duration
}

// decide decides on one request and writes the decision.
func (p *pass) decide(ctx context.Context, csr *certificatesv1.CertificateSigningRequest) error {
	other, err := p.otherName(ctx, csr.Annotations[clusterv1.ClusterUIDAnnotationKey])
	if err != nil {
		return err
	}
	decision := approval.Decide(approval.Input{
		Request: csr, Cluster: p.cluster, OtherName: other, MaxDuration: p.reconciler.options.MaxDuration,
	})
	if decision.Review != nil {
		allowed, err := p.review(ctx, decision.Review)
		if err != nil {
			return err
		}
		if !allowed {
			decision = approval.Decision{
				Action: approval.Wait, Reason: approval.ReasonNotAllowed,
				Message: fmt.Sprintf("the requester %s may not renew the certificates of ManagedCluster %s", csr.Spec.Username, p.name),
			}
			p.retry = reviewRetry
		}
	}
	switch decision.Action {
	case approval.Approve:
		return p.approve(ctx, csr, decision)
	case approval.Deny:
		return p.deny(ctx, csr, decision)
	case approval.Wait:
		p.waiting++
		p.addConflict(decision)
		log.FromContext(ctx).V(1).Info("the certificate request waits", "request", csr.Name, "reason", decision.Reason, "message",
			decision.Message)
		return p.acceptByRule(ctx, csr, decision)
	case approval.Ignore:
	}
	return nil
}

func (p *pass) review(ctx context.Context, spec *authorizationv1.SubjectAccessReviewSpec) (bool, error) {
	review := &authorizationv1.SubjectAccessReview{Spec: *spec}
	if err := p.reconciler.client.Create(ctx, review); err != nil {
		return false, fmt.Errorf("reviewing the permission of %s: %w", spec.User, err)
	}
	return review.Status.Allowed, nil
}

// approve records the member and uses up its join token, then approves its request. In the other order, a failure between the writes
// would leave a member with a certificate and no record, and a token that is good for another one.
func (p *pass) approve(ctx context.Context, csr *certificatesv1.CertificateSigningRequest, decision approval.Decision) error {
	if decision.Pin != "" || decision.Consume {
		next := p.cluster.DeepCopy()
		record(next, csr, decision)
		if err := p.reconciler.client.Patch(ctx, next, apply.Fenced(p.cluster)); err != nil {
			return fmt.Errorf("recording the UID of the member on ManagedCluster %s: %w", p.name, err)
		}
		p.cluster = next
	}
	message := "The request passes every rule for the agent of ManagedCluster " + p.name
	if err := p.finish(ctx, csr, certificatesv1.CertificateApproved, approvedReason, message); err != nil {
		return err
	}
	p.reconciler.metrics.AddApproved()
	log.FromContext(ctx).Info("approved the certificate request", "request", csr.Name, "requester", csr.Spec.Username)
	p.emit(approvedEvent(p.name, csr.Name, csr.Spec.Username))
	return nil
}

// record writes the member, and with a first certificate the agent, on the cluster.
func record(cluster *clusterv1.ManagedCluster, csr *certificatesv1.CertificateSigningRequest, decision approval.Decision) {
	if decision.Pin != "" {
		metav1.SetMetaDataAnnotation(&cluster.ObjectMeta, clusterv1.ClusterUIDAnnotationKey, decision.Pin)
	}
	if !decision.Consume {
		return
	}
	registration.ClearRequester(cluster)
	metav1.SetMetaDataAnnotation(&cluster.ObjectMeta, clusterv1.JoinedRequestAnnotationKey, string(csr.UID))
	if agent, ok := approval.FirstAgent(csr, cluster.Name); ok { // its permissions are there when the certificate is
		metav1.SetMetaDataAnnotation(&cluster.ObjectMeta, clusterv1.AgentNameAnnotationKey, agent)
	}
}

func (p *pass) deny(ctx context.Context, csr *certificatesv1.CertificateSigningRequest, decision approval.Decision) error {
	if err := p.finish(ctx, csr, certificatesv1.CertificateDenied, decision.Reason, decision.Message); err != nil {
		return err
	}
	p.reconciler.metrics.AddDenied()
	log.FromContext(ctx).Info("denied the certificate request", "request", csr.Name, "reason", decision.Reason, "message", decision.Message)
	if p.cluster != nil {
		p.emit(deniedEvent(p.name, csr.Name, decision.Message))
	}
	return nil
}

// finish writes the condition of a request, unless the request changed since it was read.
func (p *pass) finish(
	ctx context.Context, csr *certificatesv1.CertificateSigningRequest, kind certificatesv1.RequestConditionType, reason, message string,
) error {
	now := metav1.NewTime(p.reconciler.options.Clock.Now())
	next := csr.DeepCopy()
	next.Status.Conditions = append(next.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
		Type: kind, Status: corev1.ConditionTrue, Reason: reason, Message: message, LastUpdateTime: now, LastTransitionTime: now,
	})
	if err := p.reconciler.client.SubResource("approval").Update(ctx, next); err != nil {
		return fmt.Errorf("writing the condition %s of CertificateSigningRequest %s: %w", kind, csr.Name, err)
	}
	return nil
}

// addConflict stores the conflict that a request shows, unless there is one.
func (p *pass) addConflict(decision approval.Decision) {
	reason, ok := map[string]string{
		approval.ReasonIdentityConflict: reasonConflict, approval.ReasonOtherName: reasonOtherName,
	}[decision.Reason]
	if ok && p.conflict == "" {
		p.conflict, p.reason = decision.Message, reason
	}
}

// otherName returns another accepted cluster whose recorded member has a UID; empty without one.
func (p *pass) otherName(ctx context.Context, uid string) (string, error) {
	if p.cluster == nil || uid == "" {
		return "", nil
	}
	list := &clusterv1.ManagedClusterList{}
	if err := p.reconciler.client.List(ctx, list, client.MatchingFields{clustersByMember: uid}, client.UnsafeDisableDeepCopy); err != nil {
		return "", fmt.Errorf("listing the ManagedClusters of the member with the UID %s: %w", uid, err)
	}
	return registration.OtherNameOf(uid, p.cluster, list.Items), nil
}

// compareNames stores the conflict of a cluster whose recorded member has another name as well.
func (p *pass) compareNames(ctx context.Context) error {
	if p.cluster == nil || p.conflict != "" || !registration.AdmitsAgent(p.cluster) {
		return nil
	}
	uid := p.cluster.Annotations[clusterv1.ClusterUIDAnnotationKey]
	other, err := p.otherName(ctx, uid)
	if err == nil && other != "" {
		p.reason = reasonOtherName
		p.conflict = fmt.Sprintf("the member with the UID %q is ManagedCluster %s and ManagedCluster %s: %s", uid,
			min(p.name, other), max(p.name, other),
			approval.OtherNameChoices(p.name))
	}
	return err
}

// reportConflict returns a message where another member than the recorded one reports as the agent of a cluster; empty otherwise. Two
// members that share a join token may both have a token before the first of them is recorded.
func reportConflict(cluster *clusterv1.ManagedCluster) string {
	if cluster == nil {
		return ""
	}
	other := registration.OtherReporter(cluster)
	if other == "" {
		return ""
	}
	return fmt.Sprintf("the member with the UID %q reports as the agent of ManagedCluster %s, which is the member with the UID %q",
		other, cluster.Name, cluster.Annotations[clusterv1.ClusterUIDAnnotationKey])
}

// writeConflict reports on the cluster whether another member requests its certificate.
func (p *pass) writeConflict(ctx context.Context) error {
	if p.cluster == nil {
		return nil
	}
	stored := meta.FindStatusCondition(p.cluster.Status.Conditions, clusterv1.ManagedClusterConditionIdentityConflict)
	want := metav1.Condition{
		Type: clusterv1.ManagedClusterConditionIdentityConflict, Status: metav1.ConditionTrue, Reason: p.reason, Message: p.conflict,
		LastTransitionTime: metav1.NewTime(p.reconciler.options.Clock.Now().Truncate(time.Second)),
	}
	if p.conflict == "" {
		want.Status, want.Reason, want.Message = metav1.ConditionFalse, reasonNoConflict, noConflict
	}
	if stored == nil && p.conflict == "" || stored != nil && stored.Status == want.Status && stored.Message == want.Message &&
		stored.Reason == want.Reason {
		return nil
	}
	next := p.cluster.DeepCopy()
	meta.SetStatusCondition(&next.Status.Conditions, want)
	if err := p.reconciler.client.Status().Patch(ctx, next, apply.Fenced(p.cluster)); err != nil {
		return fmt.Errorf("writing the condition %s of ManagedCluster %s: %w", want.Type, p.name, err)
	}
	p.cluster = next
	if p.conflict != "" {
		log.FromContext(ctx).Info("the cluster and its member do not belong together alone", "message", p.conflict)
		p.emit(identityConflictEvent(p.conflict))
	}
	return nil
}

func (p *pass) emit(event telemetry.Event) {
	p.reconciler.recorder.Eventf(p.cluster, nil, event.Type, event.Reason, event.Action, "%s", event.Note)
}
