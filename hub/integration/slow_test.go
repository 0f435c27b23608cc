//go:build slow

package integration

import (
	"os"
	"testing"

	"github.com/berth-project/berth/hub/hubtest"
)

func TestHubStopsWithItsTest(t *testing.T) {
	hub := hubtest.New(t, hubtest.Options{Args: []string{"--unsafe-no-fsync"}})
	dir := hub.DataDir()
	hub.CloseInput()
	<-hub.Done()
	if err := hub.Stop(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the temporary data folder %s is still there: %v", dir, err)
	}
}
