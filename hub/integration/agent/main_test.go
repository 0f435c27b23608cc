// Package agent tests which writes admission permits to agents, and to the users that join clusters: a table of every write
// on every kind of the hub, the fields of each permitted write, and attempts to get more.
//
// The hub has no manager, since the rules must hold without one. The agents have a certificate, and the roles that an accepted
// cluster has, or every role.
package agent

import (
	"flag"
	"os"
	"testing"

	"github.com/berth-project/berth/hub/hubtest"
)

var (
	shared *hubtest.Hub
	update = flag.Bool("update", false, "write the list of permitted writes anew")
)

func TestMain(m *testing.M) {
	os.Exit(hubtest.Main(m, &shared, hubtest.Options{}))
}
