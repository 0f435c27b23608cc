// Package boundary tests tenancy: one table of the permissions of every role that Berth provides, and a test for each attempt
// to get more.
//
// The users have a certificate or a token and the permissions of their roles. They send their requests to a whole hub with
// Berth's manager. The tests compare the code and the message of the API server word for word.
package boundary

import (
	"os"
	"testing"

	"github.com/berth-project/berth/hub/hubtest"
)

var shared *hubtest.Hub

func TestMain(m *testing.M) {
	os.Exit(hubtest.Main(m, &shared, hubtest.Options{Manager: true}))
}
