package approval

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/membership/registration"
)

// checkCluster lets only the agents of accepted clusters have certificates.
func checkCluster(in Input, _ string) Decision {
	label := in.Request.Labels[clusterv1.ClusterNameLabelKey]
	if in.Cluster == nil || in.Cluster.Name != label {
		return wait(ReasonNoCluster, "there is no ManagedCluster %s", label)
	}
	accepted := registration.Condition(in.Cluster, clusterv1.ManagedClusterConditionHubAccepted)
	switch {
	case !in.Cluster.DeletionTimestamp.IsZero():
		return wait(ReasonDeleting, "ManagedCluster %s is being deleted", label)
	case !in.Cluster.Spec.HubAcceptsClient, accepted == nil, accepted.Status != metav1.ConditionTrue, registration.Simulated(*accepted):
		return wait(ReasonNotAccepted, "ManagedCluster %s is not accepted", label)
	default:
		return Decision{Action: Approve}
	}
}

// checkRequester compares the requester, and the UID that the member reports, with the cluster. The agent itself renews its
// certificate. Only the recorded requester gets the first one.
func checkRequester(in Input, name string) Decision {
	spec, cluster := in.Request.Spec, in.Cluster
	renewal := spec.Username == name
	if renewal && !slices.Contains(spec.Groups, registration.AgentGroup(cluster.Name)) {
		return wait(ReasonRequesterMismatch, "the requester %s is not in the group %s", spec.Username, registration.AgentGroup(cluster.Name))
	}
	if !renewal && hasToken(in) {
		return checkTokenMember(in)
	}
	started := !renewal && approvalStarted(in)
	if !renewal && !started {
		if decision := checkFirst(in); decision.Action != Approve {
			return decision
		}
	}
	if decision := checkMember(in, renewal); decision.Action != Approve {
		return decision
	}
	pinned := cluster.Annotations[clusterv1.ClusterUIDAnnotationKey]
	out := Decision{Action: Approve, Consume: !renewal && !started}
	if pinned == "" {
		out.Pin = in.Request.Annotations[clusterv1.ClusterUIDAnnotationKey]
	}
	if renewal {
		out.Review = renewReview(spec, cluster.Name)
		return out
	}
	account := cluster.Annotations[clusterv1.JoinRequesterUIDAnnotationKey]
	rejoins := cluster.Annotations[clusterv1.AutoRejoinAnnotationKey] == "true" && (pinned != "" || account != "")
	if registration.Reported(cluster) && !rejoins && !started {
		return wait(ReasonJoined, "ManagedCluster %s has joined before: run `kubectl berth token create --cluster %s --rejoin` and start the "+
			"agent with the printed command, or approve the request", cluster.Name, cluster.Name)
	}
	return out
}

// checkFirst decides whether the requester of a first certificate is the recorded one. A second member with a token that is used up is the
// conflict to report.
func checkFirst(in Input) Decision {
	decision := checkBootstrap(in)
	if decision.Action != Wait || in.Request.Spec.Username != registration.JoinUser(in.Cluster.Name) {
		return decision
	}
	if member := checkMember(in, false); member.Reason == ReasonIdentityConflict {
		return member
	}
	return decision
}

// hasToken reports whether a requester has a token of a cluster whose agent authenticates by a token.
func hasToken(in Input) bool {
	user, cluster := in.Request.Spec.Username, in.Cluster
	return registration.UsesToken(cluster) && (user == registration.JoinUser(cluster.Name) || user == registration.AccountUser(cluster.Name))
}

// checkTokenMember decides on a request with a token of a cluster whose agent authenticates by a token. Another member than the
// recorded one sends such a request to report itself. It gets no certificate, which the deletion of a service account would not end.
func checkTokenMember(in Input) Decision {
	if member := checkMember(in, false); member.Reason == ReasonIdentityConflict {
		return member
	}
	return deny(ReasonDriver, "the agent of ManagedCluster %s authenticates by a token: start it with --driver token, or set the annotation "+
		"%s of the ManagedCluster to csr",
		in.Cluster.Name, clusterv1.DriverAnnotationKey)
}

// approvalStarted reports whether the hub used up the join token for this very request, and then failed to approve it.
func approvalStarted(in Input) bool {
	uid := string(in.Request.UID)
	return uid != "" && in.Cluster.Annotations[clusterv1.JoinedRequestAnnotationKey] == uid
}

// checkMember compares the UID that the member reports with the recorded one. The agents of Open Cluster Management report none,
// so only their renewals pass.
func checkMember(in Input, renewal bool) Decision {
	cluster := in.Cluster
	reported, pinned := in.Request.Annotations[clusterv1.ClusterUIDAnnotationKey], cluster.Annotations[clusterv1.ClusterUIDAnnotationKey]
	switch {
	case reported != "" && pinned == "" && !renewal && in.OtherName != "":
		return wait(ReasonOtherName, "the member with the UID %q, which is ManagedCluster %s already, requests the certificate of "+
			"ManagedCluster %s: %s",
			reported, in.OtherName, cluster.Name, OtherNameChoices(cluster.Name))
	case reported == "" && renewal, reported != "" && (pinned == "" || reported == pinned):
		return Decision{Action: Approve}
	case reported == "":
		return wait(ReasonIdentityUnknown, "the request has no annotation %s, so the hub cannot record the member of ManagedCluster %s or "+
			"compare it with the recorded UID %q",
			clusterv1.ClusterUIDAnnotationKey, cluster.Name, pinned)
	default:
		return wait(ReasonIdentityConflict, "the member with the UID %q requests the certificate of ManagedCluster %s, which is "+
			"the member with the UID %q",
			reported, cluster.Name, pinned)
	}
}

// OtherNameChoices returns what an administrator can do about the member of a cluster that has another name as well.
func OtherNameChoices(name string) string {
	return fmt.Sprintf("two agents on one member undo each other's work: stop one of them and deny its cluster, as with `kubectl berth "+
		"deny %s`, or, where these are two machines made from one image, run `kubectl berth accept %s --shared-identity`", name, name)
}

// checkBootstrap compares the requester of a first certificate with the recorded requester.
func checkBootstrap(in Input) Decision {
	spec, recorded := in.Request.Spec, in.Cluster.Annotations[clusterv1.JoinRequesterAnnotationKey]
	switch {
	case SharedBootstrap(spec):
		return wait(ReasonSharedIdentity, "the requester %s has a bootstrap identity that all clusters share", spec.Username)
	case isAgent(spec), recorded == "", spec.Username != recorded:
		return wait(ReasonRequesterMismatch, "the requester %s is neither the agent itself nor the requester that the annotation %s "+
			"of ManagedCluster %s names",
			spec.Username, clusterv1.JoinRequesterAnnotationKey, in.Cluster.Name)
	case tokenEnded(in):
		return deny(ReasonTokenEnded, "the request was created with a former join token of ManagedCluster %s, which has ended; the agent with "+
			"the last one, from `kubectl berth token create --cluster %s --rejoin`, creates another request", in.Cluster.Name, in.Cluster.Name)
	default:
		return Decision{Action: Approve}
	}
}

// tokenEnded reports whether the recorded requester sent a request with an account from before the recorded one.
func tokenEnded(in Input) bool {
	recorded := in.Cluster.Annotations[clusterv1.JoinRequesterUIDAnnotationKey]
	return recorded != "" && in.Request.Spec.UID != recorded
}
