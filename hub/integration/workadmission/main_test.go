// Package workadmission tests who may deliver what: each write of works and of sets of works, by each kind of user, on a whole hub
// with the roles, policies and webhooks that it installs.
package workadmission

import (
	"flag"
	"os"
	"testing"

	"github.com/berth-project/berth/hub/hubtest"
)

var (
	shared *hubtest.Hub
	update = flag.Bool("update", false, "write the golden files anew")
)

func TestMain(m *testing.M) {
	os.Exit(hubtest.Main(m, &shared, hubtest.Options{Manager: true}))
}
