// Package boundary proves tenancy: what everybody may do who has a role that Berth hands out, as one table, and what
// people try who want more, each try a test of its own.
//
// All of it is said to a whole hub with Berth's manager in it, by users who have a certificate or a token and nothing but
// what roles give them. What the API server answers is held against the code and the message, word for word.
package boundary

import (
	"os"
	"testing"
	"time"

	"github.com/berth-project/berth/hub/hubtest"
)

// testTimeout is far more than anything here needs on an idle machine: what is waited for is never a matter of speed.
const testTimeout = 60 * time.Second

var shared *hubtest.Hub

func TestMain(m *testing.M) {
	os.Exit(hubtest.Main(m, &shared, hubtest.Options{Manager: true}))
}
