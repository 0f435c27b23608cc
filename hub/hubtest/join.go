package hubtest

import (
	"testing"
	"time"

	"github.com/berth-project/berth/internal/membership/join"
)

// JoinFlags returns the flags with which a member joins the hub as a cluster. The driver is how its agent authenticates.
func (h *Hub) JoinFlags(t testing.TB, cluster, driver string) []string {
	t.Helper()
	to, err := join.NewClient(h.Config())
	if err != nil {
		t.Fatal(err)
	}
	endpoint, err := join.FindEndpoint(t.Context(), to, h.Config())
	if err != nil {
		t.Fatal(err)
	}
	hash, err := endpoint.Hash()
	if err != nil {
		t.Fatal(err)
	}
	token, _, err := join.Token{Cluster: cluster, Driver: driver, TTL: time.Hour}.Create(t.Context(), to)
	if err != nil {
		t.Fatal(err)
	}
	return []string{"--hub=" + endpoint.URL, "--ca-hash=" + hash, "--token=" + token}
}
