// Package view tests the views on a whole hub with Berth's manager in it, for users whose permissions come from roles.
//
// The tests share one hub. Each uses its own names of users, sets, clusters and roles.
package view

import (
	"os"
	"testing"
	"time"

	"github.com/berth-project/berth/hub/hubtest"
)

// timeout is far longer than any wait on an idle machine, so no test depends on speed.
const timeout = 120 * time.Second

var shared *hubtest.Hub

func TestMain(m *testing.M) {
	os.Exit(hubtest.Main(m, &shared, hubtest.Options{Manager: true}))
}
