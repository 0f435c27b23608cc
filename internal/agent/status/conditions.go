// Package status reports a member in the status of its ManagedCluster.
//
// It owns what is reported and when: the conditions first, in a patch of their own, so that a report of facts that the hub
// refuses delays no condition. It reads the member from package member. The invariant: nothing is written when nothing changed,
// and nothing is written to a cluster that the hub does not accept.
package status

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/agent/member"
)

// Report is what the agent reports besides the facts of the member.
type Report struct {
	Health member.Health
	// Omitted are the claims that are left out; nil while the member is not read completely.
	Omitted *Omitted
	// Renewal is the outcome of the last renewal of the certificate; nil where there was none.
	Renewal *Renewal
	// Held is what the brake on evictions holds; nil while that is not known.
	Held *Held
	// Undefined is why the member cannot store the records of works; nil while that is not known.
	Undefined *Undefined
}

// Undefined is why the member cannot store the records of works. An empty message is that it can.
type Undefined struct{ Message string }

// Held is what the brake on evictions holds. An empty message is nothing.
type Held struct{ Message string }

// Renewal is the outcome of a renewal of the certificate. An empty failure is a success.
type Renewal struct{ Failure string }

// Conditions returns the conditions of an accepted cluster, with those of the agent brought up to date. The others stay.
func Conditions(stored []metav1.Condition, report Report, now time.Time) []metav1.Condition {
	out := slices.Clone(stored)
	set := func(kind string, status bool, reason, message string) {
		condition := metav1.Condition{
			Type: kind, Status: metav1.ConditionFalse, Reason: reason, Message: message,
			LastTransitionTime: metav1.NewTime(now),
		}
		if status {
			condition.Status = metav1.ConditionTrue
		}
		meta.SetStatusCondition(&out, condition)
	}
	// Joined is set once and stays.
	if !meta.IsStatusConditionTrue(out, clusterv1.ManagedClusterConditionJoined) {
		set(clusterv1.ManagedClusterConditionJoined, true, clusterv1.ReasonManagedClusterJoined, "Managed cluster joined")
	}
	switch {
	case !report.Health.Known:
	case report.Health.Healthy:
		set(clusterv1.ManagedClusterConditionAvailable, true, clusterv1.ReasonManagedClusterAvailable, "Managed cluster is available")
	default:
		set(clusterv1.ManagedClusterConditionAvailable, false, clusterv1.ReasonManagedClusterKubeAPIServerUnavailable, report.Health.Message)
	}
	onlyWhileTrue := func(kind, message, reason, over, overMessage string) {
		switch {
		case message != "":
			set(kind, true, reason, message)
		case meta.FindStatusCondition(out, kind) != nil:
			set(kind, false, over, overMessage)
		}
	}
	if report.Omitted != nil {
		onlyWhileTrue(clusterv1.ManagedClusterConditionClaimsTruncated, report.Omitted.message(), clusterv1.ReasonClaimsOmitted,
			clusterv1.ReasonClaimsComplete, "All claims are reported")
	}
	if report.Held != nil {
		onlyWhileTrue(clusterv1.ManagedClusterConditionWorkEvictionHeld, report.Held.Message, clusterv1.ReasonWorksLost,
			clusterv1.ReasonWorksReturned, "The eviction of no work is held")
	}
	if report.Undefined != nil {
		onlyWhileTrue(clusterv1.ManagedClusterConditionWorkRecordsMissing, report.Undefined.Message, clusterv1.ReasonDefinitionMissing,
			clusterv1.ReasonDefinitionReturned, "The member stores the records of works")
	}
	switch {
	case report.Renewal == nil:
	case report.Renewal.Failure == "":
		set(clusterv1.ManagedClusterConditionCertificateRotated, true, clusterv1.ReasonClientCertificateUpdated,
			"The agent renewed its client certificate")
	default:
		set(clusterv1.ManagedClusterConditionCertificateRotated, false, clusterv1.ReasonClientCertificateUpdateFailed, report.Renewal.Failure)
	}
	return out
}

// withFacts returns a status with the facts of a member.
func withFacts(stored clusterv1.ManagedClusterStatus, facts member.Facts,
	claims []clusterv1.ManagedClusterClaim,
) clusterv1.ManagedClusterStatus {
	stored.Version.Kubernetes = facts.Version
	stored.Capacity = Capacity(facts.Nodes, stored.Capacity)
	stored.Allocatable = Allocatable(facts.Nodes)
	stored.ClusterClaims = claims
	return stored
}
