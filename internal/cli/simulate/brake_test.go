package simulate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/berth-project/berth/internal/cli/command"
)

// fleetOfTwelve is a fleet of one bound set, and a placement of all of its clusters. The first of them have a taint.
func fleetOfTwelve(tainted int) string {
	out := &strings.Builder{}
	for i := range 12 {
		taints := ""
		if i < tainted {
			taints = ", taints: [{key: drain, effect: NoSelect, timeAdded: '2026-01-01T00:00:00Z'}]"
		}
		fmt.Fprintf(out, `
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: c%d, labels: {cluster.open-cluster-management.io/clusterset: gold}}
spec: {hubAcceptsClient: true%s}
---`, i, taints)
	}
	return out.String() + `
apiVersion: cluster.open-cluster-management.io/v1beta2
kind: ManagedClusterSet
metadata: {name: gold}
---
apiVersion: cluster.open-cluster-management.io/v1beta2
kind: ManagedClusterSetBinding
metadata: {name: gold, namespace: shop}
spec: {clusterSet: gold}
---
`
}

// TestABrakeIsWarnedOf drains clusters that are selected.
func TestABrakeIsWarnedOf(t *testing.T) {
	t.Parallel()
	placement := "apiVersion: cluster.open-cluster-management.io/v1beta1\nkind: Placement\nmetadata: {name: web, namespace: shop}\nspec: {}\n"
	decided := run(t, fleetOfTwelve(0)+placement, "simulate", "-f", "-", "-o", "yaml")
	if decided.Code != command.ExitOK {
		t.Fatal(decided.ErrOut)
	}
	for tainted, want := range map[int]struct {
		code int
		text string
	}{
		6: {code: command.ExitOK},
		7: {command.ExitUnsatisfied, "Warning: a hub stops this by a brake: managedclusterset/gold: at least 7 of 12 clusters of the set"},
	} {
		got := run(t, fleetOfTwelve(tainted)+decided.Out, "simulate", "-f", "-", "--require-satisfied")
		if got.Code != want.code || !strings.Contains(got.ErrOut, want.text) || want.text == "" && got.ErrOut != "" {
			t.Errorf("%d drained: exit code %d, want %d, and %q:\n%s", tainted, got.Code, want.code, want.text, got.ErrOut)
		}
	}
}
