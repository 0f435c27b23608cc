package simulate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/berth-project/berth/internal/cli/command"
)

// fleetOfTwelve is a fleet of one bound set, and a placement of all of its clusters. The first of them have a taint.
func fleetOfTwelve(tainted int, conditions string) string {
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
status: {conditions: [` + conditions + `]}
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
	decided := run(t, fleetOfTwelve(0, "")+placement, "simulate", "-f", "-", "-o", "yaml")
	if decided.Code != command.ExitOK {
		t.Fatal(decided.ErrOut)
	}
	const on = "{type: BrakedByTaints, status: 'True', reason: TooManyLeave, message: 7 of 12 would have left, " +
		"lastTransitionTime: '2026-01-01T00:00:00Z'}"
	for name, test := range map[string]struct {
		tainted    int
		conditions string
		code       int
		text       string
	}{
		"less than the share": {6, "", command.ExitOK, ""},
		"the share":           {7, "", command.ExitUnsatisfied, "managedclusterset/gold: at least 7 of 12 clusters of the set"},
		"a brake that is on":  {1, on, command.ExitUnsatisfied, "managedclusterset/gold: 7 of 12 would have left"},
		"nothing leaves":      {0, on, command.ExitOK, ""},
	} {
		got := run(t, fleetOfTwelve(test.tainted, test.conditions)+decided.Out, "simulate", "-f", "-", "--require-satisfied")
		want := "Warning: a hub stops this by a brake: " + test.text
		if got.Code != test.code || test.text != "" && !strings.Contains(got.ErrOut, want) || test.text == "" && got.ErrOut != "" {
			t.Errorf("%s: exit code %d, want %d, and %q:\n%s", name, got.Code, test.code, test.text, got.ErrOut)
		}
	}
}
