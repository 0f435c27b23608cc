package runner_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-project/berth/internal/cli/clitest"
	"github.com/berth-project/berth/internal/cli/command"
)

// TestFilesAreTakenAsTheyAre: on a hub no cluster is selected that never joined. Offline commands put no taint on what a file
// holds: neither simulate, nor test, nor diff -f.
func TestFilesAreTakenAsTheyAre(t *testing.T) {
	place := clitest.Placement("p", "", "")
	simulated := clitest.Decisions(t, run(t, clitest.Fleet+place, "simulate", "-f", "-", "-o", "yaml").Out)["p"]
	if diff := cmp.Diff([]string{"c1", "c2"}, simulated); diff != "" {
		t.Errorf("simulate selects (-want +got):\n%s", diff)
	}

	scenario := scenarioFile(t, "- expect: [{placement: p, count: 2}]")
	if got := run(t, "", "test", scenario); got.Code != command.ExitOK {
		t.Errorf("test: %+v", got)
	}

	base := filepath.Join(t.TempDir(), "base.yaml")
	decided := clitest.Fleet + place + clitest.Slice("p-decision-1", "labels: {cluster.open-cluster-management.io/placement: p}", "c1")
	if err := os.WriteFile(base, []byte(decided), 0o600); err != nil {
		t.Fatal(err)
	}
	const added = "{apiVersion: cluster.open-cluster-management.io/v1, kind: ManagedCluster, metadata: {name: c3}}"
	clitest.Golden(t, "diff-as-it-is.txt", run(t, added, "diff", "--base", base, "-f", "-").Out)
}
