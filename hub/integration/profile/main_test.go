// Package profile tests the controller profile: ClusterProfiles follow clusters, sets and bindings, a consumer that has only the KEPs to go
// by follows the decisions of a placement, and heartbeats write nothing.
package profile

import (
	"os"
	"testing"
	"time"

	"github.com/berth-project/berth/config"
	"github.com/berth-project/berth/hub/hubtest"
)

// testTimeout is far longer than any wait of the tests on an idle machine. No test measures speed.
const testTimeout = 120 * time.Second

var shared *hubtest.Hub

func TestMain(m *testing.M) {
	os.Exit(hubtest.Main(m, &shared, hubtest.Options{Manifests: config.Profile()}))
}
