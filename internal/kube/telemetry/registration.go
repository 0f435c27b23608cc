package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
)

// The reasons and actions of the events about registration, on a ManagedCluster.
const (
	ReasonClusterAccepted     = "ClusterAccepted"
	ReasonClusterAutoAccepted = "ClusterAutoAccepted"
	ReasonAgentRevoked        = "AgentRevoked"
	ReasonClusterDenied       = "ClusterDenied"
	ReasonNamespaceForeign    = "NamespaceForeign"
	ReasonNameReserved        = "NameReserved"
	ReasonNamespaceKept       = "NamespaceKept"
	ReasonForcedRemoval       = "ForcedRemoval"
	ReasonWorkReleased        = "WorkReleased"
	ReasonRequestApproved     = "CertificateRequestApproved"
	ReasonRequestDenied       = "CertificateRequestDenied"
	ReasonIdentityConflict    = "ClusterIdentityConflict"
	ReasonProbeClusterMissing = "ClusterMissing"
	ActionAcceptanceApplied   = "AcceptanceApplied"
	ActionDeletionApplied     = "DeletionApplied"
	ActionRequestReviewed     = "CertificateRequestReviewed"
	ActionProbed              = "Probed"
	approved                  = "approved"
	requestDenied             = "denied"
	certificateRequestMetric  = "berth_certificate_requests"
)

// CertificateRequests are the metrics of the controller that approves the certificate requests of agents.
type CertificateRequests struct {
	finished *prometheus.CounterVec
}

// NewCertificateRequests registers the metrics. It must be called once per registry. Each scrape calls pending.
func NewCertificateRequests(registry prometheus.Registerer, pending func() int) *CertificateRequests {
	set := &Set{}
	out := newCertificateRequests(set, pending)
	set.Register(registry)
	for _, result := range []string{approved, requestDenied} {
		out.finished.WithLabelValues(result)
	}
	return out
}

func newCertificateRequests(set *Set, pending func() int) *CertificateRequests {
	set.Scraped(certificateRequestMetric+"_pending", "CertificateSigningRequests of agents that wait for an administrator or for a change of their cluster.",
		func(emit Emit) { emit(float64(pending())) })
	return &CertificateRequests{finished: set.Counter(certificateRequestMetric+"_total",
		"CertificateSigningRequests of agents that the manager approved or denied.", Label{Name: "result", Values: []string{approved, requestDenied}})}
}

// AddApproved counts an approved request.
func (c *CertificateRequests) AddApproved() { c.finished.WithLabelValues(approved).Inc() }

// AddDenied counts a denied request.
func (c *CertificateRequests) AddDenied() { c.finished.WithLabelValues(requestDenied).Inc() }

// AgentRevokedEvent returns the event of an agent whose service account was deleted.
func AgentRevokedEvent(cluster string) Event {
	return NewEvent(corev1.EventTypeWarning, ReasonAgentRevoked, ActionAcceptanceApplied,
		"The service account of the agent of ManagedCluster %s was deleted, so its agent has no access until the cluster is accepted again", cluster)
}

// ClusterAcceptedEvent returns the event of an accepted cluster.
func ClusterAcceptedEvent(cluster string) Event {
	return NewEvent(corev1.EventTypeNormal, ReasonClusterAccepted, ActionAcceptanceApplied,
		"ManagedCluster %s is accepted: its agent has the namespace %s and permissions", cluster, cluster)
}

// ClusterAutoAcceptedEvent returns the event of a cluster that a rule accepts.
func ClusterAutoAcceptedEvent(cluster, requester, rule string) Event {
	return NewEvent(corev1.EventTypeNormal, ReasonClusterAutoAccepted, ActionAcceptanceApplied,
		"ManagedCluster %s is accepted on the request of %s by the rule --auto-accept %q", cluster, requester, rule)
}

// ClusterDeniedEvent returns the event of a denied cluster.
func ClusterDeniedEvent(cluster string) Event {
	return NewEvent(corev1.EventTypeWarning, ReasonClusterDenied, ActionAcceptanceApplied,
		"ManagedCluster %s is denied: the permissions of its agent are withdrawn, its namespace and its works stay", cluster)
}

// ClusterNamespaceForeignEvent returns the event of a cluster that cannot be accepted for its namespace.
func ClusterNamespaceForeignEvent(cluster, message string) Event {
	return NewEvent(corev1.EventTypeWarning, ReasonNamespaceForeign, ActionAcceptanceApplied,
		"ManagedCluster %s gets no namespace and no permissions: %s", cluster, message)
}

// ClusterNameReservedEvent returns the event of a cluster that cannot be accepted for its name.
func ClusterNameReservedEvent(cluster, message string) Event {
	return NewEvent(corev1.EventTypeWarning, ReasonNameReserved, ActionAcceptanceApplied,
		"ManagedCluster %s gets no namespace and no permissions: %s", cluster, message)
}

// NamespaceKeptEvent returns the event of a deleted cluster whose namespace stays.
func NamespaceKeptEvent(cluster, reason string) Event {
	return NewEvent(corev1.EventTypeWarning, ReasonNamespaceKept, ActionDeletionApplied,
		"ManagedCluster %s is deleted and its namespace stays: %s. Delete the namespace by hand when it is not needed", cluster, reason)
}

// ForcedRemovalEvent returns the event of an object whose finalizers are removed because the agent is silent.
func ForcedRemovalEvent(cluster, kind, name string) Event {
	return NewEvent(corev1.EventTypeWarning, ReasonForcedRemoval, ActionDeletionApplied,
		"The finalizers of %s %s are removed: ManagedCluster %s is being deleted and its agent is silent. What it applied stays on the member", kind, name, cluster)
}

// WorkReleasedEvent returns the event of a work that goes without its agent, because its cluster is gone.
func WorkReleasedEvent(cluster, work string) Event {
	return NewEvent(corev1.EventTypeWarning, ReasonWorkReleased, ActionDeletionApplied,
		"ManifestWork %s is deleted without its agent, because ManagedCluster %s does not exist. What it applied may be left on the member; "+
			"if the member joins again, its agent evicts it", work, cluster)
}

// RequestApprovedEvent returns the event of an approved certificate request.
func RequestApprovedEvent(cluster, request, requester string) Event {
	return NewEvent(corev1.EventTypeNormal, ReasonRequestApproved, ActionRequestReviewed,
		"CertificateSigningRequest %s of ManagedCluster %s is approved, requested by %s", request, cluster, requester)
}

// RequestDeniedEvent returns the event of a denied certificate request.
func RequestDeniedEvent(cluster, request, message string) Event {
	return NewEvent(corev1.EventTypeWarning, ReasonRequestDenied, ActionRequestReviewed,
		"CertificateSigningRequest %s of ManagedCluster %s is denied: %s", request, cluster, message)
}

// IdentityConflictEvent returns the event of a second member with the name of a cluster.
func IdentityConflictEvent(message string) Event {
	return NewEvent(corev1.EventTypeWarning, ReasonIdentityConflict, ActionRequestReviewed, "%s", message)
}

// ProbeClusterMissingEvent returns the event of a Secret of a probe whose cluster does not exist.
func ProbeClusterMissingEvent(secret, cluster string) Event {
	return NewEvent(corev1.EventTypeWarning, ReasonProbeClusterMissing, ActionProbed,
		"Secret %s is not used: ManagedCluster %s does not exist. Create and accept it, or correct the label of the Secret", secret, cluster)
}
