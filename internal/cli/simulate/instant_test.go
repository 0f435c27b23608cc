package simulate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-project/berth/internal/cli/clitest"
	"github.com/berth-project/berth/internal/cli/command"
)

// timedFleet is a fleet whose decisions change by themselves: a toleration runs out for three clusters, which the disruption
// policy lets go one every ten minutes.
const timedFleet = `
{apiVersion: cluster.open-cluster-management.io/v1, kind: ManagedCluster, metadata: {name: a1, labels: {region: a}}, spec: {taints: [{key: dark, effect: NoSelect, timeAdded: "2026-11-20T09:59:00Z"}]}}
---
{apiVersion: cluster.open-cluster-management.io/v1, kind: ManagedCluster, metadata: {name: a2, labels: {region: a}}, spec: {taints: [{key: dark, effect: NoSelect, timeAdded: "2026-11-20T09:59:00Z"}]}}
---
{apiVersion: cluster.open-cluster-management.io/v1, kind: ManagedCluster, metadata: {name: a3, labels: {region: a}}, spec: {taints: [{key: dark, effect: NoSelect, timeAdded: "2026-11-20T09:59:00Z"}]}}
---
{apiVersion: cluster.open-cluster-management.io/v1, kind: ManagedCluster, metadata: {name: b1, labels: {region: b}}}
---
{apiVersion: cluster.open-cluster-management.io/v1, kind: ManagedCluster, metadata: {name: b2, labels: {region: b}}}
---
{apiVersion: cluster.open-cluster-management.io/v1, kind: ManagedCluster, metadata: {name: b3, labels: {region: b}}}
` + "---" + clitest.Fleet

const slowPlacementSpec = "numberOfClusters: 3, tolerations: [{key: dark, operator: Exists, tolerationSeconds: 300}], " +
	"disruptionPolicy: {maxUnavailable: 1, interval: 10m}, predicates: [{requiredClusterSelector: {labelSelector: {matchExpressions: " +
	"[{key: region, operator: Exists}]}}}]"

func timedInput() string {
	return timedFleet + clitest.Placement("p", "", slowPlacementSpec) + clitest.Slice("p-decision-1", "",
		"a1, reason: ''}, {clusterName: a2, reason: ''}, {clusterName: a3")
}

func TestSimulateAtInstants(t *testing.T) {
	cases := map[string][]string{
		"offsets":                  {"--at", "+5m", "--at", "+20m", "--at", "+1h"},
		"instants in another zone": {"--at", "2026-11-20T11:05:00+01:00", "--at", "2026-11-20T12:00:00Z"},
		"next":                     {"--at", "next", "--at", "next", "--at", "next", "--at", "next", "--at", "next"},
		"an offset after next":     {"--at", "next", "--at", "+2h"},
	}
	for name, args := range cases {
		t.Run(name, func(t *testing.T) {
			got := run(t, timedInput(), append([]string{"simulate", "-f", "-"}, args...)...)
			if got.Code != command.ExitOK {
				t.Fatalf("exit code %d, standard error:\n%s", got.Code, got.ErrOut)
			}
			clitest.Golden(t, "at-"+strings.ReplaceAll(name, " ", "-")+".table", got.Out)
		})
	}
}

// TestLastInstantEqualsTheSumOfSteps goes to an instant in one go, and in a run for each step whose input is the output of the one
// before, as a hub that is restarted would.
func TestLastInstantEqualsTheSumOfSteps(t *testing.T) {
	steps := []string{"10:00:00", "10:04:00", "10:05:00", "10:14:00", "10:24:00", "10:40:00"}
	last := timedInput()
	for _, at := range steps {
		got := run(t, last, "simulate", "-f", "-", "-o", "yaml", "--now", "2026-11-20T"+at+"Z")
		if got.Code != command.ExitOK {
			t.Fatalf("at %s: %s", at, got.ErrOut)
		}
		last = timedFleet + "\n---\n" + got.Out
	}
	_, want, _ := strings.Cut(last, timedFleet+"\n---\n")
	got := run(t, timedInput(), "simulate", "-f", "-", "-o", "yaml", "--now", "2026-11-20T10:00:00Z", "--at", "+40m")
	if diff := cmp.Diff(want, got.Out); diff != "" {
		t.Errorf("the end (-by steps +in one go):\n%s", diff)
	}
	if held := clitest.Decisions(t, want)["p"]; strings.Join(held, " ") != "b1 b2 b3" {
		t.Errorf("the end is %s: nothing was put to the test", held)
	}
}

// TestTaintWithoutATimeStartsNow holds the toleration to the instant that a hub would have noted.
func TestTaintWithoutATimeStartsNow(t *testing.T) {
	input := strings.ReplaceAll(timedInput(), `, timeAdded: "2026-11-20T09:59:00Z"`, "")
	for offset, want := range map[string]string{"+299s": "a1 a2 a3", "+300s": "a2 a3 b1"} {
		got := run(t, input, "simulate", "-f", "-", "-o", "json", "--at", offset)
		if diff := cmp.Diff(strings.Fields(want), clitest.Decisions(t, got.Out)["p"]); diff != "" {
			t.Errorf("at %s (-want +got):\n%s", offset, diff)
		}
	}
}

func TestRequireSatisfiedLooksAtEveryInstant(t *testing.T) {
	input := strings.ReplaceAll(timedInput(), "disruptionPolicy: {maxUnavailable: 1, interval: 10m}, ", "") +
		clitest.Placement("q", "", "numberOfClusters: 2, tolerations: [{key: dark, operator: Exists, tolerationSeconds: 300}], predicates: "+
			"[{requiredClusterSelector: {labelSelector: {matchLabels: {region: a}}}}]")
	got := run(t, input, "simulate", "-f", "-", "--require-satisfied", "--at", "+1h")
	const want = "1 placement not satisfied:\n  2026-11-20T11:00:00Z: default/q: NoManagedClusterMatched: "
	if got.Code != command.ExitUnsatisfied || !strings.HasPrefix(got.ErrOut, want) {
		t.Errorf("got exit code %d and %q, want 1 and %q", got.Code, got.ErrOut, want)
	}
	if now := run(t, input, "simulate", "-f", "-", "--require-satisfied"); now.Code != command.ExitOK {
		t.Errorf("without --at: %+v", now)
	}
}

func TestGeneratedFleet(t *testing.T) {
	input := clitest.Placement("p", "namespace: shop", "numberOfClusters: 3") +
		clitest.Placement("q", "namespace: shop", "clusterSets: [set-00]") + `
---
{apiVersion: cluster.open-cluster-management.io/v1beta2, kind: ManagedClusterSetBinding, metadata: {name: set-00, namespace: shop}, spec: {clusterSet: set-00}}`
	got := run(t, input, "simulate", "-f", "-", "--fleet", "250", "--seed", "3")
	clitest.Golden(t, "fleet.table", got.Out)
	if again := run(t, input, "simulate", "-f", "-", "--fleet", "250", "--seed", "3"); again != got {
		t.Error("the same seed gives another fleet")
	}
	if other := run(t, input, "simulate", "-f", "-", "--fleet", "250", "--seed", "4"); other.Out == got.Out {
		t.Error("another seed gives the same fleet")
	}
	for _, form := range forms {
		printed := run(t, input, "simulate", "-f", "-", "--fleet", "250", "--seed", "3", "--print-fleet", "-o", form)
		if printed.Code != command.ExitOK || printed.ErrOut != "" {
			t.Fatalf("%s: %+v", form, printed)
		}
		if diff := cmp.Diff(got.Out, run(t, input+"\n---\n"+printed.Out, "simulate", "-f", "-").Out); diff != "" {
			t.Errorf("from the %s that was printed (-generated +read):\n%s", form, diff)
		}
	}
}

func TestGeneratedFleetConflictIsRefused(t *testing.T) {
	for kind, object := range map[string]string{
		"ManagedCluster cluster-00001": "apiVersion: cluster.open-cluster-management.io/v1, kind: ManagedCluster, metadata: " +
			"{name: cluster-00001}",
		"ManagedClusterSet fleet": "apiVersion: cluster.open-cluster-management.io/v1beta2, kind: ManagedClusterSet, " +
			"metadata: {name: fleet}",
		"ManagedClusterSetBinding default/fleet": "apiVersion: cluster.open-cluster-management.io/v1beta2, kind: ManagedClusterSetBinding, " +
			"metadata: {name: fleet}, spec: {clusterSet: fleet}",
	} {
		got := run(t, fmt.Sprintf("{%s}%s", object, clitest.Placement("p", "", "")), "simulate", "-f", "-", "--fleet", "5")
		if got.Code != command.ExitRefused || !strings.Contains(got.ErrOut, kind+" is both given and part of the generated fleet") {
			t.Errorf("%s: %+v", kind, got)
		}
	}
}
