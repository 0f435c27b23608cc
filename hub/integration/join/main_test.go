// Package join tests what the hub does for a cluster from its acceptance to its deletion, and which certificate requests it approves. It
// runs against a real API server, with a manager in a process of its own that has the permissions of config/registration only.
package join

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/berth-project/berth/config"
	"github.com/berth-project/berth/hub/hubtest"
)

var shared *hubtest.Hub

func TestMain(m *testing.M) {
	os.Exit(hubtest.Main(m, &shared, hubtest.Options{Manifests: config.Registration()}))
}

// startManager starts a manager that registers clusters.
func startManager(t *testing.T) *hubtest.Manager {
	t.Helper()
	return hubtest.StartManager(t, shared, hubtest.ManagerOptions{Args: []string{"--controllers=*,acceptance,csr,addon"}})
}

var errNotLogged = errors.New("not logged")

// besideOCM is a manager that logs an error.
type besideOCM struct{ *hubtest.Manager }

// startBesideOCM starts a manager that registers clusters, on a hub where another controller does.
func startBesideOCM(t *testing.T) besideOCM {
	t.Helper()
	return besideOCM{hubtest.StartManager(t, shared, hubtest.ManagerOptions{
		Args:        []string{"--controllers=*,acceptance,csr,addon"},
		AllowErrors: true,
	})}
}

func (b besideOCM) logged(text string) error {
	if !strings.Contains(b.Log(), text) {
		return errNotLogged
	}
	return nil
}
