//go:build slow

package memberagent

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/config"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

func TestAMemberThatStopsIsUnavailableAfterTwentySeconds(t *testing.T) {
	stopping := kit.Must(hubtest.Start(t.Context(), hubtest.Options{Manifests: config.MemberCRDs()})).In(t)
	t.Cleanup(func() { _ = stopping.Stop() })
	c := newCluster(t, hub, "stopping")
	c.MustCreate(kit.Cluster(c.name))
	c.giveCertificate("a1")
	c.accept()
	c.startAgent(stopping)
	c.awaitCondition(clusterv1.ManagedClusterConditionAvailable, metav1.ConditionTrue)
	reported := kit.Cluster(c.name) // the claims follow the condition, on a busy machine seconds later
	c.AwaitObject(reported, "the agent reports its claims", func() error {
		if claims(reported)[clusterv1.ClaimID] == "" {
			return fmt.Errorf("the cluster has the claims %v", claims(reported))
		}
		return nil
	})

	stopping.Kill()
	killed := time.Now()
	found := c.awaitCondition(clusterv1.ManagedClusterConditionAvailable, metav1.ConditionFalse)
	if took := time.Since(killed); took < 19*time.Second {
		t.Errorf("the cluster was unavailable after %s, want at least 20 s", took)
	}
	if claims(found)[clusterv1.ClaimID] == "" {
		t.Error("the claims of a member that does not respond were removed")
	}
	c.awaitRenewal() // the agent lives
}
