//go:build slow

// Package availability tests two managers on one hub while they are replaced: in a rolling update, and when the leader is killed. Clients
// write all the time. It measures how long nothing decides.
//
// It owns what the load sends, and a balancer in place of a Service. The hub, the managers and their webhooks are real.
package availability

import (
	"os"
	"testing"
	"time"

	"github.com/berth-project/berth/hub/hubtest"
)

const (
	// testTimeout is far longer than any wait of the tests on an idle machine.
	testTimeout = 150 * time.Second
	// clusters and placements are the fleet; admissions and changes are the load in a second.
	clusters, placements  = 30, 40
	admissions, changes   = 50, 20
	stoppedBound          = 15 * time.Second
	killedBound           = 40 * time.Second
	maxInFlight           = 200
	maxErrors             = 5
	probeTimeout          = 2 * time.Second
	repeats               = 2
	leasePeriod           = 20 * time.Millisecond
	leaseNamespace, lease = "berth-system", "berth-manager"
)

var shared *hubtest.Hub

func TestMain(m *testing.M) { os.Exit(hubtest.Main(m, &shared, hubtest.Options{})) }
