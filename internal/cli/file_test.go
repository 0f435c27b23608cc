package cli_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-project/berth/internal/cli"
)

// TestFilesAreTakenAsTheyAre: on a hub no cluster is selected that never joined. Offline commands put no taint on what a file
// holds: neither simulate, nor test, nor diff -f.
func TestFilesAreTakenAsTheyAre(t *testing.T) {
	place := placement("p", "", "")
	simulated := decisions(t, run(t, fleet+place, "simulate", "-f", "-", "-o", "yaml").out)["p"]
	if diff := cmp.Diff([]string{"c1", "c2"}, simulated); diff != "" {
		t.Errorf("simulate selects (-want +got):\n%s", diff)
	}

	scenario := scenarioFile(t, "- expect: [{placement: p, count: 2}]")
	if got := run(t, "", "test", scenario); got.code != cli.ExitOK {
		t.Errorf("test: %+v", got)
	}

	base := filepath.Join(t.TempDir(), "base.yaml")
	decided := fleet + place + slice("p-decision-1", "labels: {cluster.open-cluster-management.io/placement: p}", "c1")
	if err := os.WriteFile(base, []byte(decided), 0o600); err != nil {
		t.Fatal(err)
	}
	const added = "{apiVersion: cluster.open-cluster-management.io/v1, kind: ManagedCluster, metadata: {name: c3}}"
	checkGolden(t, "diff-as-it-is.txt", run(t, added, "diff", "--base", base, "-f", "-").out)
}
