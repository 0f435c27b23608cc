package version

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
)

// withAgents returns clusters c0, c1 and so on, whose agents report versions.
func withAgents(versions ...string) []metav1.PartialObjectMetadata {
	var out []metav1.PartialObjectMetadata
	for i, version := range versions {
		meta := metav1.ObjectMeta{Name: fmt.Sprintf("c%d", i), Annotations: map[string]string{clusterv1.AgentVersionAnnotationKey: version}}
		out = append(out, metav1.PartialObjectMetadata{ObjectMeta: meta})
	}
	return out
}

func TestAgentsAreGroupedByVersion(t *testing.T) {
	got := agentVersions(withAgents("v0.1.0", "v0.2.0", "", "v0.2.0", "\x1b[31mno version"))
	want := []agentVersion{{"v0.2.0", []string{"c1", "c3"}}, {"v0.1.0", []string{"c0"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
	if got, want := describeAgents(got), "v0.2.0 (2), v0.1.0 (1)"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := describeAgents(nil); got != unknownVersion {
		t.Errorf("no agent is %s", got)
	}
}

func TestAgentsFarFromTheManagerAreNamed(t *testing.T) {
	agents := agentVersions(withAgents("v0.1.0", "v0.2.0", "v0.1.0", "v0.1.0", "v0.1.0", "v0.4.0"))
	want := []string{
		"the agent of c0, c2, c3 and 1 more: v0.1.0 is 2 minor versions behind v0.3.0",
	}
	if diff := cmp.Diff(want, agentSkews(agents, "v0.3.0")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestManyVersionsAreBounded(t *testing.T) {
	var versions []string
	for i := range 3 * maxAgentVersions {
		versions = append(versions, fmt.Sprintf("v%d.0.0", i+2))
	}
	agents := agentVersions(withAgents(versions...))
	if got := agentSkews(agents, "v1.0.0"); len(got) != maxAgentVersions {
		t.Errorf("%d skews", len(got))
	}
	if got := describeAgents(agents); !strings.HasSuffix(got, ", 16 more") {
		t.Errorf("%s", got)
	}
}
