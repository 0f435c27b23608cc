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
)

// TestAHubThatTakesNoUsage has roles of an earlier release, without the scores of agents. The agent goes on, reports it once, and sends few
// requests.
func TestAHubThatTakesNoUsage(t *testing.T) {
	c := newCluster(t, hub, "no-usage")
	c.create(&clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: c.name}})
	c.giveCertificate("a1")
	c.accept()
	stored, err := c.stored(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	meta.SetStatusCondition(&stored.Status.Conditions, metav1.Condition{
		Type: clusterv1.ManagedClusterConditionHubAccepted, Status: metav1.ConditionTrue, Reason: "HubClusterAdminAccepted", Message: "accepted by the test",
	})
	if err := c.Status().Update(t.Context(), stored); err != nil {
		t.Fatal(err)
	}
	requests := func() (out float64) {
		for request, count := range hub.ReadMetrics(t).Requests() {
			if request.Resource == "addonplacementscores" {
				out += count
			}
		}
		return out
	}
	before := requests()
	c.startAgent(member, "--report-usage", "--usage-interval=5s")
	c.eventually(func(ctx context.Context) error {
		code, text, err := c.ready(ctx)
		if err != nil || code != 200 || !strings.Contains(text, "usage: ") || !strings.Contains(text, "config/registration") {
			return fmt.Errorf("the page of an agent whose usage is refused is %d %s: %w", code, text, err)
		}
		return nil
	})
	c.awaitRenewal()
	time.Sleep(quietPeriod) // several intervals
	if sent := requests() - before; sent < 1 || sent > 4 {
		t.Errorf("the agent sent %v requests for its scores, want a few", sent)
	}
	if lines := strings.Count(c.agent.Log(), "the usage of the member is not reported"); lines != 1 {
		t.Errorf("the log has the refusal %d times, want once:\n%s", lines, c.agent.Log())
	}
}
