//go:build slow

// Package score tests the controller score with a real Prometheus: placements follow measured load, and a Prometheus that dies lets the
// scores run out.
package score

import (
	"os"
	"testing"

	"github.com/berth-project/berth/config"
	"github.com/berth-project/berth/hub/hubtest"
)

var shared *hubtest.Hub

func TestMain(m *testing.M) {
	os.Exit(hubtest.Main(m, &shared, hubtest.Options{Manifests: config.Score()}))
}
