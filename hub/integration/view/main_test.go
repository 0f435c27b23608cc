// Package view tests the views against the real thing: a whole hub with Berth's manager in it, started with no extra
// step, and users who have nothing but what roles give them.
//
// The tests share one hub and keep apart by the names of users, sets, clusters and roles.
package view

import (
	"os"
	"testing"
	"time"

	"github.com/berth-project/berth/hub/hubtest"
)

// timeout is far more than anything here needs on an idle machine: what is waited for is never a matter of speed.
const timeout = 120 * time.Second

var shared *hubtest.Hub

func TestMain(m *testing.M) {
	os.Exit(hubtest.Main(m, &shared, hubtest.Options{Manager: true}))
}
