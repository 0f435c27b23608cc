//go:build slow

package memberagent

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

func TestAnAgentRenewsItsLeaseAfterARestartOfTheHub(t *testing.T) {
	options := hubtest.Options{DataDir: t.TempDir()}
	first := kit.Must(hubtest.Start(t.Context(), options)).In(t)
	c := newCluster(t, first, "restarted")
	c.MustCreate(kit.Cluster(c.name))
	c.giveCertificate("a1")
	c.accept()
	c.startAgent(member)
	c.awaitCondition(clusterv1.ManagedClusterConditionAvailable, metav1.ConditionTrue)
	c.awaitFirstReport()
	c.awaitRenewal()

	first.Kill()
	second := hubtest.New(t, options) // on the same port, which is in its data
	if before, after := first.Config().Host, second.Config().Host; before != after {
		t.Fatalf("the hub serves %s after its restart, and %s before: another process has taken its port", after, before)
	}
	c.awaitRenewal()
	c.requireQuiet() // the conditions and facts are the same as before
}
