package version

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilversion "k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/metadata"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/kube/version"
)

const (
	// clustersPerPage bounds one response of the API server.
	clustersPerPage = 500
	// maxAgentVersions bounds how many versions are printed: every agent writes its own. maxNamed bounds the clusters of one.
	maxAgentVersions, maxNamed = 8, 3
)

// agentVersion is a version, and the clusters whose agents report it, by name.
type agentVersion struct {
	Version  string   `json:"version"`
	Clusters []string `json:"clusters"`
}

// readAgents returns the versions that the agents of a hub report; none where the user may not list clusters.
func readAgents(ctx context.Context, hub metadata.Interface) ([]agentVersion, error) {
	clusters := hub.Resource(schema.GroupVersionResource{Group: clusterv1.GroupName, Version: "v1", Resource: "managedclusters"})
	var all []metav1.PartialObjectMetadata
	for options := (metav1.ListOptions{Limit: clustersPerPage}); ; {
		page, err := clusters.List(ctx, options)
		if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
			return nil, nil // there are no clusters, or the user may not see them
		}
		if err != nil {
			return nil, fmt.Errorf("reading the versions of agents: %w", err)
		}
		all = append(all, page.Items...)
		if options.Continue = page.Continue; options.Continue == "" {
			return agentVersions(all), nil
		}
	}
}

// agentVersions groups clusters by the versions of their agents, the most frequent first. Agents without a semantic version, such as those
// of Open Cluster Management, are left out.
func agentVersions(clusters []metav1.PartialObjectMetadata) []agentVersion {
	byVersion := map[string][]string{}
	for i := range clusters {
		reported := clusters[i].Annotations[clusterv1.AgentVersionAnnotationKey]
		if _, err := utilversion.ParseSemantic(reported); err == nil {
			byVersion[reported] = append(byVersion[reported], clusters[i].Name)
		}
	}
	out := make([]agentVersion, 0, len(byVersion))
	for reported, names := range byVersion {
		slices.Sort(names)
		out = append(out, agentVersion{reported, names})
	}
	slices.SortFunc(out, func(a, b agentVersion) int {
		return cmp.Or(cmp.Compare(len(b.Clusters), len(a.Clusters)), strings.Compare(a.Version, b.Version))
	})
	return out
}

// describeAgents returns one line with the versions of agents and how many clusters have each.
func describeAgents(agents []agentVersion) string {
	if len(agents) == 0 {
		return unknownVersion
	}
	var parts []string
	for _, agent := range agents[:min(len(agents), maxAgentVersions)] {
		parts = append(parts, fmt.Sprintf("%s (%d)", agent.Version, len(agent.Clusters)))
	}
	if more := len(agents) - maxAgentVersions; more > 0 {
		parts = append(parts, fmt.Sprintf("%d more", more))
	}
	return strings.Join(parts, ", ")
}

// agentSkews returns which agents are too far from the manager.
func agentSkews(agents []agentVersion, manager string) []string {
	var out []string
	for _, agent := range agents {
		if skew := version.Skew("the agent of "+namesOf(agent.Clusters)+":", agent.Version, manager); skew != "" && len(out) < maxAgentVersions {
			out = append(out, skew)
		}
	}
	return out
}

func namesOf(clusters []string) string {
	if more := len(clusters) - maxNamed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(clusters[:maxNamed], ", "), more)
	}
	return strings.Join(clusters, ", ")
}
