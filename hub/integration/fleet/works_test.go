//go:build slow

package fleet

import (
	"context"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/agent/agenttest"
)

// TestAFleetOfWorkAgents: the agents that benchmarks use deliver works to their members, and a restart applies nothing again.
func TestAFleetOfWorkAgents(t *testing.T) {
	hub := hubtest.New(t, hubtest.Options{})
	admin, clusters := kit.New(t, hub), []string{"c0", "c1"}
	deliver := func(name string) {
		for _, cluster := range clusters {
			work := kit.Work(cluster, name)
			text := fmt.Appendf(nil, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"default","name":%q}}`, name)
			work.Spec.Workload.Manifests = []workv1.Manifest{{RawExtension: runtime.RawExtension{Raw: text}}}
			admin.MustCreate(work)
		}
	}
	for _, cluster := range clusters {
		admin.MustCreate(kit.Namespace(cluster))
	}
	deliver("first")
	agents := kit.Must(agenttest.StartWorks(t.Context(), hub.Config(), clusters)).In(t)
	t.Cleanup(agents.Stop)
	awaitDelivered(t, agents, clusters, "first")
	kit.NoError(t, agents.Restart(t.Context()))
	deliver("second") // agents that deliver it have read everything
	awaitDelivered(t, agents, clusters, "second")
	if applies := agents.Applies(); applies > 2*len(clusters) {
		t.Errorf("%d applies of %d objects", applies, 2*len(clusters))
	}
}

// awaitDelivered waits until the member of each cluster has a ConfigMap.
func awaitDelivered(t *testing.T, agents *agenttest.Works, clusters []string, name string) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, 2*time.Minute, true, func(context.Context) (bool, error) {
		for _, cluster := range clusters {
			if !agents.Has(cluster, "default", name) {
				return false, nil
			}
		}
		return true, nil
	})
	if err != nil {
		t.Fatalf("delivering %s: %v", name, err)
	}
}
