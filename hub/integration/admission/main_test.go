// Package admission tests what users may store, against the real thing: a real API server with real roles, users with
// certificates of their own, and a manager that is a process of its own, with the very permissions that it has in a
// cluster.
//
// The tests share one hub and one manager and keep apart by names. None runs beside another, since some stop the manager.
package admission

import (
	"os"
	"testing"
	"time"

	"github.com/berth-project/berth/hub/hubtest"
)

// timeout is far more than anything here needs on an idle machine: what is waited for is never a matter of speed.
const timeout = 60 * time.Second

var shared *hubtest.Hub

func TestMain(m *testing.M) {
	code := hubtest.Main(m, &shared, hubtest.Options{})
	stopManager()
	os.Exit(code)
}
