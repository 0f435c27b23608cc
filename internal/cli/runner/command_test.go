package runner_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-project/berth/internal/cli/clitest"
	"github.com/berth-project/berth/internal/cli/command"
	"github.com/berth-project/berth/internal/cli/diff"
	"github.com/berth-project/berth/internal/cli/runner"
	"github.com/berth-project/berth/internal/cli/simulate"
)

func run(t *testing.T, stdin string, args ...string) clitest.Result {
	t.Helper()
	return clitest.Run(t, stdin, args, clitest.WithoutClock(runner.NewCommand), simulate.NewCommand, diff.NewCommand)
}

var scenarios = filepath.Join("..", "..", "..", "examples", "scenarios")

// TestScenariosOfTheExamples plays each as a user would.
func TestScenariosOfTheExamples(t *testing.T) {
	got := run(t, "", "test", scenarios)
	const want = "4 scenarios: 4 passed, 0 failed\n"
	if got.Code != command.ExitOK || got.ErrOut != "" || !strings.HasSuffix(got.Out, want) {
		t.Errorf("got %+v, want %s", got, want)
	}
}

func TestFailedExpectations(t *testing.T) {
	for _, form := range []string{"text", "json", "junit"} {
		got := run(t, "", "test", "testdata/scenario/failing", filepath.Join(scenarios, "toleration.yaml"), "-o", form)
		if got.Code != command.ExitUnsatisfied || got.ErrOut != "1 of 2 scenarios failed\n" {
			t.Errorf("%s: exit code %d, standard error %q", form, got.Code, got.ErrOut)
		}
		clitest.Golden(t, "test-failing."+form, got.Out)
	}
}

// scenarioFile writes a scenario with some steps beside the fleet of the examples, and returns its name.
func scenarioFile(t *testing.T, steps string) string {
	t.Helper()
	fleet, err := filepath.Abs(filepath.Join(scenarios, "fleet.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "s.yaml")
	text := "apiVersion: scenario.cluster.open-cluster-management.io/v1alpha1\nkind: Scenario\nnamespace: shop\nstart: " +
		"2026-11-20T10:00:00Z\n" +
		"base:\n  files: [" + fleet + "]\n  objects:\n" +
		"  - {apiVersion: cluster.open-cluster-management.io/v1beta1, kind: Placement, metadata: {name: p}, spec: {numberOfClusters: " +
		"2}}\nsteps:\n" + steps
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestScenariosThatAreRefused(t *testing.T) {
	cases := map[string]struct{ steps, want string }{
		"a placement that is not there": {
			"- expect: [{placement: q}]",
			"line 10: steps[0].expect[0].placement: Invalid value: there is no placement shop/q; there are shop/p",
		},
		"a cluster that is not there": {
			"- taint: [{clusters: [eu-1, eu-9], key: k}]",
			"line 10: steps[0].taint[0].clusters: Invalid value: there is no cluster eu-9",
		},
		"labels that no cluster has": {
			"- label: [{where: {region: mars}, labels: {a: b}}]",
			"line 10: steps[0].label[0].where: Invalid value: no cluster has these labels",
		},
		"a label that a hub would refuse": {
			"- label:\n  - {clusters: [eu-1], labels: {a: not valid}}",
			`line 11: ManagedCluster eu-1: metadata.labels: Invalid value: "not valid"`,
		},
		"a taint that a hub would refuse": {
			"- taint: [{clusters: [eu-1], key: 'no key'}]",
			"line 10: ManagedCluster eu-1: spec.taints[0].key: Invalid value",
		},
		"an object that goes twice": {
			"- delete: [{kind: ManagedCluster, name: eu-1}]\n- delete: [{kind: ManagedCluster, name: eu-1}]",
			"line 11: steps[1].delete[0]: Invalid value: ManagedCluster eu-1: there is no such object",
		},
		"an object that is none": {"- apply:\n  - {kind: Placement}", "line 11: Placement: apiVersion: Required value"},
		"an object with a fault": {"- apply: [{apiVersion: cluster.open-cluster-management.io/v1beta1, kind: Placement, metadata: " +
			"{name: q}, spec: {numberOfClusters: -1}}]", "line 10: Placement shop/q: spec.numberOfClusters: Invalid value"},
		"a decision by hand": {"- apply: [{apiVersion: cluster.open-cluster-management.io/v1beta1, kind: PlacementDecision, " +
			"metadata: {name: p-decision-1}}]", "line 10: steps[0].apply: Invalid value: a PlacementDecision is for the placement to write"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := run(t, "", "test", scenarioFile(t, tc.steps))
			if got.Code != command.ExitRefused || !strings.Contains(got.ErrOut, tc.want) {
				t.Errorf("exit code %d, want 2 and %q:\n%s", got.Code, tc.want, got.ErrOut)
			}
		})
	}
}

func TestChangesOfObjects(t *testing.T) {
	const (
		more = "{apiVersion: cluster.open-cluster-management.io/v1beta1, kind: Placement, metadata: {name: p}, spec: {numberOfClusters: 3}}"
		dark = "{apiVersion: cluster.open-cluster-management.io/v1, kind: ManagedCluster, metadata: {name: ap-1, labels: {region: ap}}, " +
			"spec: {taints: [{key: dark, effect: NoSelect}]}}"
	)
	cases := map[string]string{
		"a placement asks for more": "- {}\n- {apply: [" + more + "], expect: [{placement: p, clusters: [ap-1, ap-2, ap-3], added: " +
			"[ap-3]}]}",
		"a placement goes and comes again": "- {delete: [{kind: Placement, name: p}]}\n- {apply: [" + more +
			"], expect: [{placement: p, clusters: [ap-1, ap-2, ap-3]}]}",
		"a binding goes": "- {delete: [{kind: ManagedClusterSetBinding, name: everywhere}], expect: [{placement: p, " +
			"clusters: []}]}",
		"a set goes": "- {delete: [{kind: ManagedClusterSet, name: everywhere}], expect: [{placement: p, count: 0}]}",
		"a cluster is applied with a taint": "- {apply: [" + dark + "], expect: [{placement: p, removed: [], added: [ap-2, ap-3], " +
			"clusters: [ap-2, ap-3]}]}",
		"a taint comes and goes in one step": "- {}\n- {taint: [{clusters: [ap-1], key: a}], untaint: [{where: {region: ap}, key: a, " +
			"effect: NoSelect}], expect: [{placement: p, unmoved: true}]}",
		"the taint of another effect stays": "- {}\n- {taint: [{clusters: [ap-1], key: a}], untaint: [{clusters: [ap-1], key: a, effect: " +
			"PreferNoSelect}], expect: [{placement: p, removed: [ap-1]}]}",
		"a label goes and another comes": "- {unlabel: [{where: {region: ap}, keys: [region]}], label: [{clusters: [ap-1], labels: " +
			"{region: eu}}]}\n- {taint: [{where: {region: eu}, key: a}], expect: [{placement: p, removed: [ap-1]}]}",
	}
	for name, steps := range cases {
		t.Run(name, func(t *testing.T) {
			if got := run(t, "", "test", scenarioFile(t, steps)); got.Code != command.ExitOK {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestScenarioFilesOfAFolder(t *testing.T) {
	root := t.TempDir()
	below := filepath.Join(root, "below")
	if err := os.Mkdir(below, 0o750); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(scenarioFile(t, "- {}"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"below/good.yaml": string(good), "notes.txt": string(good), "other.yaml": "kind: List",
		"broken.json": "{",
	} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cases := map[string]struct {
		args []string
		code int
		want string
	}{
		"a folder without any": {[]string{root}, command.ExitRefused, "has no scenario in it; -R looks in the folders below too"},
		"the folders below":    {[]string{root, "-R"}, command.ExitOK, ""},
		"a file that is none": {
			[]string{filepath.Join(root, "other.yaml")},
			command.ExitRefused,
			"kind: Invalid value: should be one of [Scenario]",
		},
		"a file that is not there": {
			[]string{filepath.Join(root, "missing")},
			command.ExitRefused,
			"cannot be read: no such file or directory; check the path",
		},
		"a bad one does not hide others": {
			[]string{filepath.Join(root, "broken.json"), below},
			command.ExitRefused,
			"broken.json: cannot be parsed as YAML",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := run(t, "", append([]string{"test"}, tc.args...)...)
			if got.Code != tc.code || !strings.Contains(got.ErrOut, tc.want) {
				t.Errorf("got %+v, want exit code %d and %q", got, tc.code, tc.want)
			}
			if strings.HasPrefix(name, "a bad one") && !strings.Contains(got.Out, "1 scenario: 1 passed") {
				t.Errorf("the good one is not reported: %s", got.Out)
			}
		})
	}
}

// TestAGeneratedFleetIsThatOfSimulate holds the two against each other.
func TestAGeneratedFleetIsThatOfSimulate(t *testing.T) {
	wanted := clitest.Decisions(t, run(t, clitest.Placement("p", "", "numberOfClusters: 3"), "simulate", "-f", "-", "--fleet", "50", "--seed",
		"9", "-o", "json").Out)["p"]
	name := filepath.Join(t.TempDir(), "s.yaml")
	text := "apiVersion: scenario.cluster.open-cluster-management.io/v1alpha1\nkind: Scenario\nstart: 2026-11-20T10:00:00Z\nbase:\n  " +
		"fleet: {clusters: 50, seed: 9}\n  objects:\n" +
		"  - {apiVersion: cluster.open-cluster-management.io/v1beta1, kind: Placement, metadata: {name: p}, spec: {numberOfClusters: 3}}\n" +
		"steps: [{expect: [{placement: p, clusters: [" + strings.Join(wanted, ", ") + "]}]}]"
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := run(t, "", "test", name); got.Code != command.ExitOK || len(wanted) != 3 {
		t.Errorf("wanted %v: %+v", wanted, got)
	}
}

// TestReportsRepeat plays the same twice: reports are compared by machines.
func TestReportsRepeat(t *testing.T) {
	first := run(t, "", "test", "testdata/scenario/failing", "-o", "json")
	if diff := cmp.Diff(first.Out, run(t, "", "test", "testdata/scenario/failing", "-o", "json").Out); diff != "" {
		t.Errorf("again (-first +second):\n%s", diff)
	}
}
