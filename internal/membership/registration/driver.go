package registration

import (
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
)

// The drivers: how agents authenticate.
const (
	// DriverCSR is a client certificate that the hub signs.
	DriverCSR = "csr"
	// DriverToken is a token of a service account. It also works on hubs that sign no client certificates.
	DriverToken = "token"
)

// MaxTokenLife is the longest life of a token of an agent. The policy berth-agents refuses requests for longer ones.
const MaxTokenLife = 24 * time.Hour

// UsesToken reports whether the agent of a cluster authenticates by a token.
func UsesToken(cluster *clusterv1.ManagedCluster) bool {
	return cluster.Annotations[clusterv1.DriverAnnotationKey] == DriverToken
}

// AccountRecorded reports whether the hub has created the service account of a cluster's agent. If the account does not exist, it was
// deleted, and its agent is revoked.
func AccountRecorded(cluster *clusterv1.ManagedCluster) bool {
	return UsesToken(cluster) && cluster.Annotations[clusterv1.AgentAccountAnnotationKey] != ""
}

// AccountUser returns the user of the service account of a cluster's agent.
func AccountUser(cluster string) string {
	return "system:serviceaccount:" + cluster + ":" + AgentAccount
}

// TokenReport returns what an agent reports about its token: its member and when the token was issued.
func TokenReport(memberUID string, issued time.Time) string {
	return memberUID + "/" + strconv.FormatInt(issued.Unix(), 10)
}

// JoinsByToken reports whether the join token of a cluster may request the token of its agent.
func JoinsByToken(cluster *clusterv1.ManagedCluster) bool {
	return UsesToken(cluster) && cluster.Annotations[clusterv1.JoinRequesterAnnotationKey] == JoinUser(cluster.Name)
}

// JoinedByToken returns the member whose agent has used the join token, and its report; ok is false while none has. A report of
// another member than the recorded one does not count.
func JoinedByToken(cluster *clusterv1.ManagedCluster) (memberUID, report string, ok bool) {
	report = cluster.Annotations[clusterv1.AgentTokenAnnotationKey]
	memberUID, _, ok = strings.Cut(report, "/")
	recorded := cluster.Annotations[clusterv1.ClusterUIDAnnotationKey]
	return memberUID, report, ok && validUID(memberUID) && (recorded == "" || recorded == memberUID) &&
		JoinsByToken(cluster) && report != cluster.Annotations[clusterv1.JoinedRequestAnnotationKey]
}

// OtherReporter returns the UID of another member than the recorded one whose agent reports its token; empty without one. A report
// that used up a join token is that of a member that was recorded then.
func OtherReporter(cluster *clusterv1.ManagedCluster) string {
	report := cluster.Annotations[clusterv1.AgentTokenAnnotationKey]
	uid, _, ok := strings.Cut(report, "/")
	recorded := cluster.Annotations[clusterv1.ClusterUIDAnnotationKey]
	if !ok || !validUID(uid) || !UsesToken(cluster) || recorded == "" || uid == recorded ||
		report == cluster.Annotations[clusterv1.JoinedRequestAnnotationKey] {
		return ""
	}
	return uid
}

// validUID reports whether a text may be the UID of a namespace.
func validUID(uid string) bool { return len(validation.IsDNS1123Label(uid)) == 0 }
