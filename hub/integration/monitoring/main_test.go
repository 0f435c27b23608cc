//go:build slow

// Package monitoring tests the dashboard and the alerts of config/monitoring. A real Prometheus scrapes a busy manager and
// evaluates the queries of Grafana.
package monitoring

import (
	"io/fs"
	"os"
	"testing"

	"github.com/berth-project/berth/config"
	"github.com/berth-project/berth/hub/hubtest"
)

var shared *hubtest.Hub

func TestMain(m *testing.M) {
	os.Exit(hubtest.Main(m, &shared, hubtest.Options{Folders: map[string]fs.FS{"delivery": config.Delivery(), "score": config.Score()}}))
}
