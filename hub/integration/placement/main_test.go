// Package placement tests the placement loop against the real thing: a real API server, and managers that are
// processes of their own, with the very permissions that they have in a cluster.
//
// The tests share one hub. Managers decide every placement of a hub, so only one test runs at a time; each has its own
// namespace, cluster set and clusters, and removes them at its end.
package placement

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
const soon = 120 * time.Second

var (
	shared *hubtest.Hub
	// binaries holds the managers that are under test.
	binaries struct{ plain, race string }
	// scratch is a folder for what outlives a test; it goes when all are over.
	scratch string
)

func TestMain(m *testing.M) {
	if err := buildManagers(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	var err error
	if scratch, err = os.MkdirTemp("", "berth-placement-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := hubtest.Main(m, &shared, hubtest.Options{})
	shutdown()
	_ = os.RemoveAll(scratch) // a leftover in the temporary folder harms nobody
	os.Exit(code)
}

// buildManagers builds the manager, plain and with the race detector, into the user's cache folder, which takes a
// second each when nothing has changed.
func buildManagers(ctx context.Context) error {
	cache, err := os.UserCacheDir()
	if err != nil {
		return err
	}
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	dir := filepath.Join(cache, "berth", "manager", strings.ReplaceAll(here, string(filepath.Separator), "_"))
	binaries.plain, binaries.race = filepath.Join(dir, "berth"), filepath.Join(dir, "berth-race")
	for path, flags := range map[string][]string{binaries.plain: nil, binaries.race: {"-race"}} {
		args := append([]string{"build", "-C", filepath.Join(here, "..", "..", ".."), "-o", path}, flags...)
		build := exec.CommandContext(ctx, "go", append(args, "./cmd/berth")...)
		if printed, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("building the manager: %w: %s", err, printed)
		}
	}
	return nil
}
