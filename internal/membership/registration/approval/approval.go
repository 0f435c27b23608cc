// Package approval owns the rules by which the hub approves the CertificateSigningRequest of an agent without an
// administrator.
//
// It is pure: objects in, one Decision out. The caller reads the objects, reviews the permission that a Decision names, and
// writes. It compares the parts of a user name, never prefixes. The invariant: no user gets a certificate for a cluster by
// the certificate or the token of another cluster.
package approval

import (
	"fmt"
	"slices"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	certificatesv1 "k8s.io/api/certificates/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/membership/registration"
)

// DefaultMaxDuration is the longest life of a certificate that is approved without an administrator.
const DefaultMaxDuration = 90 * 24 * time.Hour

// maxMessage bounds the message of a Decision.
const maxMessage = 800

// AddOnLabel is on the requests of add-ons, which another controller approves.
const AddOnLabel = "open-cluster-management.io/addon-name"

// The shared bootstrap identities of Open Cluster Management. Their requests wait for an administrator: the holder of a shared
// identity may create any cluster and request its certificate.
const (
	sharedBootstrapUser  = "system:serviceaccount:open-cluster-management:agent-registration-bootstrap"
	sharedBootstrapGroup = "system:bootstrappers:managedcluster"
)

// Action is what the hub does about a request.
type Action string

// The actions.
const (
	// Ignore is for requests of other signers and of add-ons, and for requests that are approved or denied.
	Ignore Action = "Ignore"
	// Wait leaves the request to an administrator, or to a later change of the cluster.
	Wait Action = "Wait"
	// Deny is for requests that no change of the cluster makes right.
	Deny Action = "Deny"
	// Approve is for requests that pass every rule. A renewal also needs the permission in Review.
	Approve Action = "Approve"
)

// The reasons of Wait and Deny.
const (
	ReasonNoCluster         = "ClusterNotFound"
	ReasonNoAgent           = "NotAnAgent"
	ReasonInvalid           = "InvalidRequest"
	ReasonContradiction     = "IdentityContradictsLabel"
	ReasonDuration          = "DurationTooLong"
	ReasonNotAccepted       = "ClusterNotAccepted"
	ReasonDeleting          = "ClusterDeleting"
	ReasonRequesterMismatch = "RequesterMismatch"
	ReasonSharedIdentity    = "SharedBootstrapIdentity"
	ReasonJoined            = "ClusterJoinedBefore"
	ReasonIdentityConflict  = "ClusterIdentityConflict"
	ReasonIdentityUnknown   = "ClusterIdentityUnknown"
	ReasonNotAllowed        = "RenewalNotAllowed"
	ReasonDriver            = "AgentUsesToken"
	ReasonTokenEnded        = "JoinTokenEnded"
	ReasonOtherName         = "MemberHasAnotherName"
)

// Decision is what the hub does about one request, and why.
type Decision struct {
	Action          Action
	Reason, Message string
	// Review is the permission that the requester of a renewal needs; nil for the first certificate of an agent.
	Review *authorizationv1.SubjectAccessReviewSpec
	// Pin is the UID of the member to record on the cluster before the approval; empty where it is recorded or not reported.
	Pin string
	// Consume is set where the approval uses up the recorded requester: one join token is good for one certificate.
	Consume bool
}

// Input is what a Decision is made from.
type Input struct {
	Request *certificatesv1.CertificateSigningRequest
	// Cluster is the cluster that the label of the request names; nil where it does not exist.
	Cluster *clusterv1.ManagedCluster
	// OtherName is another accepted cluster whose recorded member reports itself by the request; empty without one.
	OtherName string
	// MaxDuration bounds spec.expirationSeconds.
	MaxDuration time.Duration
}

// Decide decides on a request.
func Decide(in Input) Decision {
	label := in.Request.Labels[clusterv1.ClusterNameLabelKey]
	_, addOn := in.Request.Labels[AddOnLabel]
	if label == "" || addOn || in.Request.Spec.SignerName != certificatesv1.KubeAPIServerClientSignerName || Finished(in.Request) {
		return Decision{Action: Ignore}
	}
	name, decision := checkRequest(in.Request, label)
	if decision.Action != Approve {
		return decision
	}
	for _, check := range []func(Input, string) Decision{checkDuration, checkCluster, checkRequester} {
		if decision = check(in, name); decision.Action != Approve {
			return decision
		}
	}
	return decision
}

// Finished reports whether a request is approved, denied, failed or signed. Such a request is never written.
func Finished(request *certificatesv1.CertificateSigningRequest) bool {
	return len(request.Status.Certificate) > 0 || slices.ContainsFunc(request.Status.Conditions,
		func(c certificatesv1.CertificateSigningRequestCondition) bool {
			return c.Type == certificatesv1.CertificateApproved || c.Type == certificatesv1.CertificateDenied ||
				c.Type == certificatesv1.CertificateFailed
		})
}

// FirstAgent returns the name of the agent in a request for the first certificate of an agent of a cluster, also where an administrator
// approves it; ok is false for a renewal, and for a request that this package would deny.
func FirstAgent(request *certificatesv1.CertificateSigningRequest, cluster string) (agent string, ok bool) {
	if request.Spec.SignerName != certificatesv1.KubeAPIServerClientSignerName || isAgent(request.Spec) {
		return "", false
	}
	name, decision := checkRequest(request, cluster)
	if decision.Action != Approve {
		return "", false
	}
	_, agent, ok = registration.ParseAgentUser(name)
	return agent, ok
}

func wait(reason, format string, args ...any) Decision {
	return Decision{Action: Wait, Reason: reason, Message: truncate(fmt.Sprintf(format, args...))}
}

func deny(reason, format string, args ...any) Decision {
	return Decision{Action: Deny, Reason: reason, Message: truncate(fmt.Sprintf(format, args...))}
}

// truncate bounds a message, which quotes parts of the request.
func truncate(message string) string {
	return strings.ToValidUTF8(message[:min(len(message), maxMessage)], "")
}

// checkDuration leaves a first request for a long life to an administrator. A renewal for longer is approved, and the signer caps it:
// agents of Open Cluster Management request a year, and would lose their access.
func checkDuration(in Input, name string) Decision {
	if in.Request.Spec.Username == name {
		return Decision{Action: Approve}
	}
	seconds := in.Request.Spec.ExpirationSeconds
	if seconds != nil && time.Duration(*seconds)*time.Second > in.MaxDuration {
		return wait(ReasonDuration, "spec.expirationSeconds is %d, above the %d that are approved without an administrator", *seconds,
			int64(in.MaxDuration.Seconds()))
	}
	return Decision{Action: Approve}
}

// renewReview returns the permission that the requester of a renewal needs.
func renewReview(spec certificatesv1.CertificateSigningRequestSpec, cluster string) *authorizationv1.SubjectAccessReviewSpec {
	extra := map[string]authorizationv1.ExtraValue{}
	for key, value := range spec.Extra {
		extra[key] = authorizationv1.ExtraValue(value)
	}
	return &authorizationv1.SubjectAccessReviewSpec{
		User: spec.Username, UID: spec.UID, Groups: spec.Groups, Extra: extra,
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Group: "register.open-cluster-management.io", Resource: "managedclusters", Subresource: "clientcertificates", Name: cluster,
			Verb: "renew",
		},
	}
}

// SharedBootstrap reports whether a requester has a bootstrap identity that all clusters share.
func SharedBootstrap(spec certificatesv1.CertificateSigningRequestSpec) bool {
	return spec.Username == sharedBootstrapUser || slices.Contains(spec.Groups, sharedBootstrapGroup)
}

// isAgent reports whether a user name or a group is that of an agent of any cluster.
func isAgent(spec certificatesv1.CertificateSigningRequestSpec) bool {
	_, _, ok := registration.ParseAgentUser(spec.Username)
	return ok || slices.Contains(spec.Groups, registration.AgentsGroup)
}
