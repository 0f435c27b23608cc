// Package explain tests what a manager says of its decisions, against the real thing: a hub, a manager that serves the
// views, and users who have nothing but what roles give them.
//
// The tests share one hub and one manager, and keep apart by namespaces.
package explain

import (
	"os"
	"testing"
	"time"

	"github.com/berth-project/berth/hub/hubtest"
)

// testTimeout is far more than anything here needs on an idle machine: what is waited for is never a matter of speed.
const testTimeout = 120 * time.Second

var shared *hubtest.Hub

func TestMain(m *testing.M) {
	code := hubtest.Main(m, &shared, hubtest.Options{})
	shutdown()
	os.Exit(code)
}
