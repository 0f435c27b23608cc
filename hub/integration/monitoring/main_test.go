//go:build slow

// Package monitoring tests the dashboard and the alerts of config/monitoring. A real Prometheus scrapes a busy manager and
// evaluates the queries of Grafana.
package monitoring

import (
	"fmt"
	"io/fs"
	"os"
	"testing"

	"github.com/berth-project/berth/config"
	"github.com/berth-project/berth/hub/hubtest"
)

var shared *hubtest.Hub

func TestMain(m *testing.M) {
	manifests, err := hubtest.Merge(map[string]fs.FS{"delivery": config.Delivery(), "score": config.Score()})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(hubtest.Main(m, &shared, hubtest.Options{Manifests: manifests}))
}
