// Package registration tests which clusters may be selected: those that have joined and are accepted, by when the manager saw
// their agents, and those that it simulates. It runs against a real API server, with a manager that has all its loops and
// webhooks in a process of its own.
//
// The tests share one hub. A manager judges all clusters of a hub together, so only one test runs at a time.
package registration

import (
	"os"
	"testing"
	"time"

	"github.com/berth-project/berth/hub/hubtest"
)

const (
	// testTimeout is far more than anything here needs on an idle machine.
	testTimeout = 120 * time.Second
	// leaseSeconds is the period of the leases, in seconds.
	leaseSeconds = 2
)

var shared *hubtest.Hub

func TestMain(m *testing.M) { os.Exit(hubtest.Main(m, &shared, hubtest.Options{})) }
