//go:build slow

package join

import (
	"testing"

	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// TestBerthHubRegistersClusters holds that berth-hub runs the controllers and has their roles without any flag.
func TestBerthHubRegistersClusters(t *testing.T) {
	hub := hubtest.New(t, hubtest.Options{Manager: true})
	s := &testHub{Client: kit.New(t, hub), t: t}
	s.cluster("first")
	s.awaitAccepted("first")
	s.MustDelete(kit.Cluster("first"))
	s.AwaitGone(kit.Cluster("first"))
	s.AwaitGone(kit.Namespace("first"))
}
