package csr

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/berth-project/berth/internal/kube/telemetry"
	"github.com/berth-project/berth/internal/membership/registration"
)

// The reasons and the action of the events about requests, on a ManagedCluster.
const (
	reasonClusterAutoAccepted = "ClusterAutoAccepted"
	reasonRequestApproved     = "CertificateRequestApproved"
	reasonRequestDenied       = "CertificateRequestDenied"
	reasonIdentityConflict    = "ClusterIdentityConflict"
	actionRequestReviewed     = "CertificateRequestReviewed"
)

// autoAcceptedEvent returns the event of a cluster that a rule accepts.
func autoAcceptedEvent(cluster, requester, rule string) telemetry.Event {
	return telemetry.NewEvent(corev1.EventTypeNormal, reasonClusterAutoAccepted, registration.ActionAcceptanceApplied,
		"ManagedCluster %s is accepted on the request of %s by the rule --auto-accept %q", cluster, requester, rule)
}

// approvedEvent returns the event of an approved certificate request.
func approvedEvent(cluster, request, requester string) telemetry.Event {
	return telemetry.NewEvent(corev1.EventTypeNormal, reasonRequestApproved, actionRequestReviewed,
		"CertificateSigningRequest %s of ManagedCluster %s is approved, requested by %s", request, cluster, requester)
}

// deniedEvent returns the event of a denied certificate request.
func deniedEvent(cluster, request, message string) telemetry.Event {
	return telemetry.NewEvent(corev1.EventTypeWarning, reasonRequestDenied, actionRequestReviewed,
		"CertificateSigningRequest %s of ManagedCluster %s is denied: %s", request, cluster, message)
}

// identityConflictEvent returns the event of a second member with the name of a cluster.
func identityConflictEvent(message string) telemetry.Event {
	return telemetry.NewEvent(corev1.EventTypeWarning, reasonIdentityConflict, actionRequestReviewed, "%s", message)
}
