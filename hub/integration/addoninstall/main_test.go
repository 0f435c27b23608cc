// Package addoninstall tests the controller that installs add-ons on a real hub, with real placements and the permissions of config/addon.
// The add-ons of the tests are written against the wire format alone: they read and write untyped objects with the permissions of accounts
// of their own.
//
// The tests share one hub. Each has its own namespace, clusters and manager.
package addoninstall

import (
	"errors"
	"io/fs"
	"os"
	"testing"

	"github.com/berth-project/berth/config"
	"github.com/berth-project/berth/hub/hubtest"
)

var (
	shared *hubtest.Hub

	errNotYet = errors.New("not yet")
)

func TestMain(m *testing.M) {
	os.Exit(hubtest.Main(m, &shared, hubtest.Options{Folders: map[string]fs.FS{
		"addon":        config.AddOn(),
		"registration": config.Registration(),
	}}))
}
