package registration

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
)

// Reasons of stragglers.
const (
	// ReasonBundleUnknown means that no agent has reported its CA bundle. It is not berth-agent, or verifies the hub by the CAs of the
	// system or of a proxy, or has not been connected since the cluster was accepted.
	ReasonBundleUnknown = "its agent has not reported its CA bundle: it is not berth-agent, or has not been connected"
	// ReasonBundleOld means that the agent follows the CA bundle of the hub, and has not stored the present one yet.
	ReasonBundleOld = "its berth-agent has not stored the present CA bundle yet"
	// ReasonNeverJoined means that an agent, if there is one, waits with the CA of its join command.
	ReasonNeverJoined = "no agent has joined: a join command from before the change fails after it"
	// ReasonSignedByFormerKey means that the former key of the hub signed the token of the agent.
	ReasonSignedByFormerKey = "its token is from before the change; a berth-agent that is connected renews it within a day"
)

// Straggler is a cluster whose agent may be cut off when a CA of the hub is dropped.
type Straggler struct {
	Cluster string `json:"cluster"`
	Reason  string `json:"reason"`
}

// Stragglers returns the clusters whose agents have not reported one of the hashes of CA bundles, by name. Without a hash, it returns
// those whose agents are not known to follow the bundle of the hub at all. A simulated cluster has no agent.
func Stragglers(clusters []clusterv1.ManagedCluster, hashes ...string) []Straggler {
	var out []Straggler
	for i := range clusters {
		cluster := &clusters[i]
		reported := cluster.Annotations[CAHashAnnotationKey]
		reason := ReasonBundleOld
		switch {
		case SimulationRequested(cluster), reported != "" && (len(hashes) == 0 || slices.Contains(hashes, reported)):
			continue
		case reported != "":
		case Reported(cluster):
			reason = ReasonBundleUnknown
		default:
			reason = ReasonNeverJoined
		}
		out = append(out, Straggler{cluster.Name, reason})
	}
	return sorted(out)
}

func sorted(stragglers []Straggler) []Straggler {
	slices.SortFunc(stragglers, func(a, b Straggler) int { return cmp.Compare(a.Cluster, b.Cluster) })
	return stragglers
}

// WithOldTokens adds the clusters whose agents report a token that was issued before a time, unless they are stragglers already.
func WithOldTokens(stragglers []Straggler, clusters []clusterv1.ManagedCluster, since time.Time) []Straggler {
	for i := range clusters {
		cluster := &clusters[i]
		_, text, reported := strings.Cut(cluster.Annotations[clusterv1.AgentTokenAnnotationKey], "/")
		issued, err := strconv.ParseInt(text, 10, 64)
		if !UsesToken(cluster) || !reported || err == nil && issued >= since.Unix() {
			continue
		}
		if !slices.ContainsFunc(stragglers, func(s Straggler) bool { return s.Cluster == cluster.Name }) {
			stragglers = append(stragglers, Straggler{cluster.Name, ReasonSignedByFormerKey})
		}
	}
	return sorted(stragglers)
}
