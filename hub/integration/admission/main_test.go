// Package admission tests what users may store, against the real thing: a real API server with real roles, users with
// certificates of their own, and a manager that is a process of its own, with the very permissions that it has in a
// cluster.
//
// The tests share one hub and one manager and keep apart by names. None runs beside another, since some stop the manager.
package admission

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berth-project/berth/hub/hubtest"
)

// soon is far more than anything here needs on an idle machine: what is waited for is never a matter of speed.
const soon = 60 * time.Second

var (
	shared *hubtest.Hub
	binary string
)

func TestMain(m *testing.M) {
	if err := buildManager(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := hubtest.Main(m, &shared, hubtest.Options{})
	shutdown()
	os.Exit(code)
}

// buildManager builds the manager with the race detector into the user's cache folder, which takes a second when nothing
// has changed.
func buildManager(ctx context.Context) error {
	cache, err := os.UserCacheDir()
	if err != nil {
		return err
	}
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	binary = filepath.Join(cache, "berth", "manager", strings.ReplaceAll(here, string(filepath.Separator), "_"), "berth")
	build := exec.CommandContext(ctx, "go", "build", "-C", filepath.Join(here, "..", "..", ".."), "-race", "-o", binary, "./cmd/berth")
	if printed, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building the manager: %w: %s", err, printed)
	}
	return nil
}
