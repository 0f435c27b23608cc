package join

import (
	"context"
	"testing"

	"k8s.io/client-go/rest"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// requestBy creates a certificate request of the agent of a cluster with a join token.
func (t *testHub) requestBy(token, name, uid string) string {
	t.t.Helper()
	config := rest.AnonymousClientConfig(shared.Config())
	config.BearerToken = token
	holder := kit.For(t.t, config)
	request := kit.AgentRequest(t.t, name, "a")
	request.GenerateName, request.Labels = name+"-", map[string]string{clusterv1.ClusterNameLabelKey: name}
	request.Annotations = map[string]string{clusterv1.ClusterUIDAnnotationKey: uid}
	t.Await("the holder of the token creates a request", func(ctx context.Context) error { return holder.Create(ctx, request) })
	return request.Name
}

// TestRejoinServesTheHolderOfTheNewTokenAlone: an agent that lost its certificate starts with its used token, and its request waits. A
// token to rejoin denies this request, and approves the one of its own holder, each time.
func TestRejoinServesTheHolderOfTheNewTokenAlone(t *testing.T) {
	s := newTestHub(t)
	startManager(t)
	const name = "rejoin"
	s.cluster(name)
	s.awaitAccepted(name)
	token := joinToken(t, name, "", false)
	s.awaitState(s.requestBy(token, name, memberUID), approved)
	s.report(name)
	for range 3 {
		s.t.Log("the agent has lost its certificate, and has the used token")
		waiting := s.requestBy(token, name, memberUID)
		if got, err := s.state(t.Context(), waiting); err != nil || got != "Pending" {
			t.Errorf("the request with the used token is %q, %v", got, err)
		}
		token = joinToken(t, name, "", true)
		s.awaitState(waiting, "Denied JoinTokenEnded")
		s.awaitState(s.requestBy(token, name, memberUID), approved)
	}
	s.wantRecorded(name, memberUID)
}
