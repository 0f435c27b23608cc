package join

import (
	"context"
	"errors"
	"testing"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/hub/hubtest"
)

var errNotAccepted = errors.New("the cluster is not accepted")

// TestARuleAcceptsNewClustersOfItsRequesters accepts by the user and groups that the API server has recorded in a certificate request.
func TestARuleAcceptsNewClustersOfItsRequesters(t *testing.T) {
	s := newTestHub(t)
	s.allowRequests()
	hubtest.StartManager(t, shared, hubtest.ManagerOptions{Args: []string{
		"--controllers=*,acceptance,csr", "--auto-accept=group=provisioners;name=rule-[0-9]+",
	}})
	unaccepted := func(c *clusterv1.ManagedCluster) { c.Spec.HubAcceptsClient, c.Annotations = false, nil }
	for _, name := range []string{"rule-1", "rule-2", "rule-x"} {
		s.cluster(name, unaccepted)
	}
	group := []string{"provisioners"}
	waiting := []string{s.request("sam", nil, "rule-2", "rule-2", memberUID), s.request("sam", group, "rule-x", "rule-x", memberUID)}

	first := s.request("sam", group, "rule-1", "rule-1", memberUID)
	s.awaitState(first, approved)
	s.awaitEvent("ClusterAutoAccepted", "rule-1")
	s.Await("the rule accepts the cluster", func(ctx context.Context) error {
		cluster, err := s.stored(ctx, "rule-1")
		if err == nil && (cluster.Annotations[clusterv1.ClusterAcceptedAnnotationKey] == "" ||
			cluster.Annotations[clusterv1.ClusterUIDAnnotationKey] != memberUID) {
			err = errNotAccepted
		}
		return err
	})

	t.Log("a denial stays, and other requesters and names wait")
	s.setAccepted("rule-1", false)
	waiting = append(waiting, s.request("sam", group, "rule-1", "rule-1", memberUID))
	for name, identity := range map[string]string{"rule-1": "rule-2", "rule-2": "rule-1", "rule-x": "rule-1"} {
		s.awaitState(s.request("sam", group, name, identity, memberUID), denied) // decided after those of its cluster
		if cluster, err := s.stored(t.Context(), name); err != nil || cluster.Spec.HubAcceptsClient {
			t.Errorf("%s is accepted: %v", name, err)
		}
	}
	for _, name := range waiting {
		if got, err := s.state(t.Context(), name); err != nil || got != "Pending" {
			t.Errorf("a request that must wait is %q, %v", got, err)
		}
	}
}
