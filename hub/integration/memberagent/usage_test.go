package memberagent

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/kube/process"
)

// TestAHubThatTakesNoUsage has roles of an earlier release, without the scores of agents. The agent goes on, reports it once, and sends few
// requests.
func TestAHubThatTakesNoUsage(t *testing.T) {
	c := newCluster(t, hub, "no-usage")
	c.MustCreate(kit.Cluster(c.name))
	c.giveCertificate("a1")
	c.accept()
	stored := kit.Must(c.stored(t.Context())).In(t)
	meta.SetStatusCondition(&stored.Status.Conditions, metav1.Condition{
		Type: clusterv1.ManagedClusterConditionHubAccepted, Status: metav1.ConditionTrue, Reason: "HubClusterAdminAccepted",
		Message: "accepted by the test",
	})
	c.MustUpdateStatus(stored)
	c.startAgent(member, "--report-usage", "--usage-interval=5s")
	c.Await("the agent's page reports that its usage is refused", func(ctx context.Context) error {
		code, text, err := c.ready(ctx)
		if err != nil || code != 200 || !strings.Contains(text, "usage: ") || !strings.Contains(text, "config/registration") {
			return fmt.Errorf("the page of an agent whose usage is refused is %d %s: %w", code, text, err)
		}
		return nil
	})
	c.awaitRenewal()
	time.Sleep(quietPeriod) // several intervals
	metrics := kit.Must(process.ReadMetrics(t.Context(), c.health)).In(t)
	if failed := metrics.Sum("berth_agent_usage_reports_total", `result="failure"`); failed < 2 || failed > 3 {
		t.Errorf("the agent tried %v times in %s, want after 5 s and after another 10", failed, quietPeriod)
	}
	if lines := strings.Count(c.agent.Log(), "the usage of the member is not reported"); lines != 1 {
		t.Errorf("the log has the refusal %d times, want once:\n%s", lines, c.agent.Log())
	}
}
