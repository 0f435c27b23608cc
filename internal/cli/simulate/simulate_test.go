package simulate_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/internal/cli/clitest"
	"github.com/berth-project/berth/internal/cli/command"
	"github.com/berth-project/berth/internal/cli/diff"
	"github.com/berth-project/berth/internal/cli/runner"
	"github.com/berth-project/berth/internal/cli/simulate"
)

func run(t *testing.T, stdin string, args ...string) clitest.Result {
	t.Helper()
	return clitest.Run(t, stdin, args, simulate.NewCommand, diff.NewCommand, clitest.WithoutClock(runner.NewCommand))
}

var forms = []string{"table", "yaml", "json"}

func example(name string) string {
	return filepath.Join("..", "..", "..", "examples", "simulate", name)
}

func examples(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(example(""))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, entry := range entries {
		if entry.IsDir() {
			out = append(out, entry.Name())
		}
	}
	if len(out) == 0 {
		t.Fatal("there are no examples")
	}
	return out
}

func TestExamples(t *testing.T) {
	for _, name := range examples(t) {
		for _, form := range forms {
			t.Run(name+"/"+form, func(t *testing.T) {
				got := run(t, "", "simulate", "-f", example(name), "-o", form)
				if got.Code != command.ExitOK || got.ErrOut != "" {
					t.Fatalf("exit code %d, standard error:\n%s", got.Code, got.ErrOut)
				}
				clitest.Golden(t, "example-"+name+"."+form, got.Out)
			})
		}
	}
}

// TestAcceptedInput decides input that an API server would take, the fields included that it would drop.
func TestAcceptedInput(t *testing.T) {
	for _, path := range files(t, "accepted") {
		for _, form := range []string{"table", "yaml"} {
			t.Run(filepath.Base(path)+"/"+form, func(t *testing.T) {
				got := run(t, "", "simulate", "-f", path, "-o", form, "--validate", "warn")
				if got.Code != command.ExitOK {
					t.Fatalf("exit code %d, standard error:\n%s", got.Code, got.ErrOut)
				}
				clitest.Golden(t, filepath.Base(path)+"."+form, got.Out)
				clitest.Golden(t, filepath.Base(path)+".stderr", got.ErrOut)
			})
		}
	}
}

// TestRefusedInput holds every fault of every file against its golden file.
func TestRefusedInput(t *testing.T) {
	for _, path := range files(t, "refused") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			got := run(t, "", "simulate", "-f", path)
			if got.Code != command.ExitRefused || got.Out != "" {
				t.Errorf("exit code %d, standard output %q; want 2 and nothing", got.Code, got.Out)
			}
			clitest.Golden(t, filepath.Base(path)+".stderr", got.ErrOut)
		})
	}
}

func TestFaultsOfSeveralFilesAreReportedTogether(t *testing.T) {
	got := run(t, "{", "simulate", "-f", "testdata/refused/twice.yaml", "-f", "testdata/missing.yaml", "-f", "-", "-f",
		"testdata/refused/syntax.json")
	for _, want := range []string{
		"error: 5 faults in the input", "twice.yaml, document 2 (line 6), items[1]: ManagedClusterSet a: is given twice",
		"testdata/missing.yaml: cannot be read: no such file or directory; check the path",
		"standard input, document 1 (line 1): cannot be parsed as JSON", "syntax.json, document 2 (line 2): cannot be parsed as JSON: line 5",
	} {
		if !strings.Contains(got.ErrOut, want) {
			t.Errorf("%q is not in\n%s", want, got.ErrOut)
		}
	}
	if got.Code != command.ExitRefused {
		t.Errorf("exit code %d, want 2", got.Code)
	}
}

// TestOutputFedBackIsAFixedPoint decides the output of a run again, in the place of its placements and decisions. The result
// is the same: now, later, and in either form.
func TestOutputFedBackIsAFixedPoint(t *testing.T) {
	inputs := files(t, "accepted")
	for _, name := range examples(t) {
		inputs = append(inputs, example(name))
	}
	for _, input := range inputs {
		for _, form := range []string{"yaml", "json"} {
			t.Run(filepath.Base(input)+"/"+form, func(t *testing.T) {
				first := run(t, "", "simulate", "-f", input, "-o", form, "--validate", "ignore")
				again := run(t, first.Out+"\n---\n"+otherObjects(t, input, first.Out),
					"simulate", "-f", "-", "-o", form, "--now", "2026-11-20T10:05:00Z", "--validate", "ignore")
				if again.Code != command.ExitOK {
					t.Fatalf("exit code %d, standard error:\n%s", again.Code, again.ErrOut)
				}
				if diff := cmp.Diff(first.Out, again.Out); diff != "" {
					t.Errorf("second run (-first +second):\n%s", diff)
				}
			})
		}
	}
}

// otherObjects returns the objects of an input that are neither placements nor the decisions of those placements.
func otherObjects(t *testing.T, input, result string) string {
	t.Helper()
	placements := map[string]bool{}
	for _, object := range clitest.Objects(t, result) {
		if object.Kind == "Placement" {
			placements[object.Metadata.Name] = true
		}
	}
	paths := []string{input}
	if info, err := os.Stat(input); err != nil {
		t.Fatal(err)
	} else if info.IsDir() {
		paths, _ = filepath.Glob(filepath.Join(input, "*.*"))
	}
	var out strings.Builder
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, object := range clitest.Objects(t, string(data)) {
			owner := object.Metadata.Labels[clusterv1beta1.PlacementLabel]
			if owner == "" {
				owner, _, _ = strings.Cut(object.Metadata.Name, "-decision-")
			}
			if object.Kind != "Placement" && (object.Kind != "PlacementDecision" || !placements[owner]) {
				fmt.Fprintf(&out, "%s\n---\n", object.Raw)
			}
		}
	}
	return out.String()
}

func TestNow(t *testing.T) {
	cases := map[string]struct {
		now  string
		want []string
	}{
		"the clock's":                         {want: []string{"north-1", "north-2"}},
		"one second before a toleration ends": {now: "2026-11-20T10:09:59Z", want: []string{"north-1", "north-2"}},
		"when a toleration ends":              {now: "2026-11-20T10:10:00Z", want: []string{"south-1", "south-2"}},
		"in another time zone":                {now: "2026-11-20T11:10:00+01:00", want: []string{"south-1", "south-2"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			args := []string{"simulate", "-f", example("outage"), "-o", "yaml"}
			if tc.now != "" {
				args = append(args, "--now", tc.now)
			}
			if diff := cmp.Diff(tc.want, clitest.Decisions(t, run(t, "", args...).Out)["patient"]); diff != "" {
				t.Errorf("clusters (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBalanceCountsWhatOthersHold(t *testing.T) {
	const one, disabled = "numberOfClusters: 1", "annotations: {cluster.open-cluster-management.io/experimental-scheduling-disable: 'true'}"
	cases := map[string]struct {
		input string
		want  string
	}{
		"no decisions":                            {input: "", want: "c1"},
		"a placement decided before":              {input: clitest.Placement("a", "", one), want: "c2"},
		"a placement that comes later":            {input: clitest.Placement("z", "", one), want: "c1"},
		"later, but holding since before":         {input: clitest.Placement("z", "", one) + clitest.Slice("z-decision-1", "", "c1"), want: "c2"},
		"a placement that is not given":           {input: clitest.Slice("other-decision-1", "namespace: elsewhere", "c1"), want: "c2"},
		"a slice of no placement at all":          {input: clitest.Slice("by-hand", "", "c1"), want: "c2"},
		"a slice named like the placement itself": {input: clitest.Slice("p", "", "c1"), want: "c2"},
		"a disabled placement": {
			input: clitest.Placement("z", disabled, one) + clitest.Slice("z-decision-1", "", "c1"),
			want:  "c2",
		},
		"a placement that is being deleted": {
			input: clitest.Placement("z", "deletionTimestamp: '2026-11-20T09:00:00Z'", one) + clitest.Slice("z-decision-1", "", "c1"), want: "c2",
		},
		"the placement's own slice": {input: clitest.Slice("p-decision-1", "", "c1"), want: "c1"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := run(t, clitest.Fleet+tc.input+clitest.Placement("p", "", one), "simulate", "-f", "-", "-o", "json")
			if got.Code != command.ExitOK {
				t.Fatal(got.ErrOut)
			}
			if diff := cmp.Diff([]string{tc.want}, clitest.Decisions(t, got.Out)["p"]); diff != "" {
				t.Errorf("clusters (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRequireSatisfied(t *testing.T) {
	const disabled = "annotations: {cluster.open-cluster-management.io/experimental-scheduling-disable: 'true'}"
	const satisfied = "}\nstatus: {conditions: [{type: PlacementSatisfied, status: 'True', reason: R, message: m, lastTransitionTime: " +
		"'2026-11-01T00:00:00Z'}]"
	cases := map[string]struct {
		input string
		code  int
		want  string
	}{
		"satisfied": {input: clitest.Placement("p", "", "numberOfClusters: 2")},
		"too few clusters": {
			input: clitest.Placement("p", "", "numberOfClusters: 3"), code: 1,
			want: "1 placement not satisfied:\n  default/p: NotAllDecisionsScheduled: 1 cluster decisions unscheduled\n",
		},
		"one of two": {
			input: clitest.Placement("p", "", "") + clitest.Placement("q", "namespace: unbound", ""), code: 1,
			want: "unbound/q: NoManagedClusterSetBindings",
		},
		"disabled and satisfied": {input: clitest.Placement("p", disabled, satisfied)},
		"disabled and never decided": {
			input: clitest.Placement("p", disabled, ""), code: 1, want: "default/p: it was never decided",
		},
		"misconfigured": {
			input: clitest.Placement("p", "",
				"predicates: [{requiredClusterSelector: {celSelector: {celExpressions: ['managedCluster.spec.nowhere == 1']}}}]"), code: 1,
			want: "default/p: NotAllDecisionsScheduled",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := run(t, clitest.Fleet+tc.input, "simulate", "-f", "-", "--require-satisfied")
			if got.Code != tc.code || !strings.Contains(got.ErrOut, tc.want) || got.Out == "" {
				t.Errorf("got %+v, want exit code %d and %q", got, tc.code, tc.want)
			}
			if without := run(t, clitest.Fleet+tc.input, "simulate", "-f", "-"); without.Code != command.ExitOK {
				t.Errorf("without the flag: exit code %d, want 0", without.Code)
			}
		})
	}
}

func TestNamespaceFlag(t *testing.T) {
	got := run(t, clitest.Fleet+clitest.Placement("p", "", ""), "simulate", "-f", "-", "-n", "mine", "-o", "json")
	for _, object := range clitest.Objects(t, got.Out) {
		if object.Metadata.Namespace != "mine" {
			t.Errorf("%s %s is in namespace %q, want mine", object.Kind, object.Metadata.Name, object.Metadata.Namespace)
		}
	}
}

// TestInputWithoutAPlacementIsRefused holds that files without a placement, with an unknown kind of Berth's groups
// or with an unknown field are refused by every command that a pipeline checks with.
func TestInputWithoutAPlacementIsRefused(t *testing.T) {
	const group = "apiVersion: cluster.open-cluster-management.io/v1beta1\n"
	for name, tc := range map[string]struct{ input, want string }{
		"no placement":  {clitest.Fleet, "no Placement is given"},
		"an empty file": {"", "no Placement is given"},
		"a misspelt kind": {
			clitest.Fleet + "\n---\n" + group + "kind: Placment\nmetadata: {name: p}\n",
			`unknown kind "Placment" of cluster.open-cluster-management.io; did you mean Placement?`,
		},
		"a misspelt field": {
			clitest.Fleet + "\n---\n" + group + "kind: Placement\nmetadata: {name: p, namespace: ns}\nspec: {numberOfCluster: 3}\n",
			`unknown field "spec.numberOfCluster"; did you mean numberOfClusters?`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			base := filepath.Join(t.TempDir(), "base.yaml")
			if err := os.WriteFile(base, []byte(tc.input), 0o600); err != nil {
				t.Fatal(err)
			}
			played := filepath.Join(t.TempDir(), "scenario.yaml")
			content := "apiVersion: scenario.cluster.open-cluster-management.io/v1alpha1\nkind: Scenario\nstart: 2026-11-20T10:00:00Z\nbase: " +
				"{files: [" + base + "]}\nsteps: [{expect: []}]\n"
			if err := os.WriteFile(played, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, form := range forms {
				checkRefused(t, tc.want, run(t, "", "simulate", "-f", base, "-o", form, "--require-satisfied"))
			}
			checkRefused(t, tc.want, run(t, "", "diff", "--base", base, "--remove", "a"))
			checkRefused(t, strings.ReplaceAll(tc.want, "no Placement is given", "has no Placement"), run(t, "", "test", played))
		})
	}
}

// checkRefused holds that a command was refused for a reason.
func checkRefused(t *testing.T, reason string, got clitest.Result) {
	t.Helper()
	if got.Code != command.ExitRefused || strings.Contains(got.Out, "1 passed") || !strings.Contains(got.ErrOut, reason) {
		t.Errorf("exit code %d, standard output %q, standard error %q; want 2, and %q", got.Code, got.Out, got.ErrOut, reason)
	}
}

func TestValidateUnknownFields(t *testing.T) {
	input := clitest.Fleet + "\n---\napiVersion: cluster.open-cluster-management.io/v1beta1\nkind: Placment\nmetadata: {name: q}\n" +
		clitest.Placement("p", "", "numberOfCluster: 3")
	for level, want := range map[string][]string{
		"warn": {
			"dropped what a server would drop: spec.numberOfCluster", "did you mean Placement?", "skipped objects of other kinds",
		},
		"ignore": {"skipped objects of other kinds: Placment.cluster.open-cluster-management.io 1\n"},
	} {
		got := run(t, input, "simulate", "-f", "-", "--validate", level)
		if got.Code != command.ExitOK {
			t.Errorf("%s: exit code %d, standard error %s", level, got.Code, got.ErrOut)
		}
		for _, text := range want {
			if !strings.Contains(got.ErrOut, text) {
				t.Errorf("%s: %q is not in %s", level, text, got.ErrOut)
			}
		}
		if level == "ignore" && strings.Contains(got.ErrOut, "warning") {
			t.Errorf("ignore: %s", got.ErrOut)
		}
	}
	if got := run(t, input, "simulate", "-f", "-", "--validate", "loose"); got.Code != command.ExitRefused || !strings.Contains(got.ErrOut,
		`unknown validation "loose": use strict, warn, ignore`) {
		t.Errorf("loose: %+v", got)
	}
}

func TestManyClustersAreCounted(t *testing.T) {
	var input strings.Builder
	input.WriteString(clitest.Fleet)
	for i := range 250 {
		fmt.Fprintf(&input, "\n---\n{apiVersion: cluster.open-cluster-management.io/v1, kind: ManagedCluster, metadata: {name: x%03d, "+
			"labels: {shard: l%d}}}", i, i%8)
	}
	const matches = "predicates: [{requiredClusterSelector: {labelSelector: {matchLabels: {shard: l1}}}}]"
	const fails = `predicates: [{requiredClusterSelector: {celSelector: {celExpressions: ['managedCluster.metadata.labels["a label that no cluster has"] == "x"']}}}]`
	input.WriteString(clitest.Placement("all", "", "") + clitest.Placement("few", "", matches) + clitest.Placement("keyed", "", fails))
	clitest.Golden(t, "many.table", run(t, input.String(), "simulate", "-f", "-").Out)
}

func TestRareReasonsArePutTogether(t *testing.T) {
	var input strings.Builder
	input.WriteString(clitest.Fleet)
	for i := range 20 {
		fmt.Fprintf(&input, "\n---\n{apiVersion: cluster.open-cluster-management.io/v1, kind: ManagedCluster, metadata: {name: x%02d}, "+
			"spec: {taints: [{key: example.com/rack, value: rack-%d-%s, effect: NoSelect}]}}", i, i/3, strings.Repeat("long", 20))
	}
	clitest.Golden(t, "reasons.table", run(t, input.String()+clitest.Placement("p", "", "numberOfClusters: 1"), "simulate", "-f", "-").Out)
}

func TestWhatKeepsClustersApartIsTold(t *testing.T) {
	var input strings.Builder
	input.WriteString(clitest.Fleet)
	for i := range 6 {
		fmt.Fprintf(&input, "\n---\n{apiVersion: cluster.open-cluster-management.io/v1, kind: ManagedCluster, metadata: {name: x%d, labels: "+
			"{zone: z%d}}}", i, i/4)
	}
	input.WriteString(clitest.Placement("apart", "",
		"numberOfClusters: 4, spreadPolicy: {antiAffinity: [{topologyKey: zone, topologyKeyType: Label}]}"))
	input.WriteString(clitest.Placement("even", "",
		"numberOfClusters: 6, spreadPolicy: {spreadConstraints: [{topologyKey: zone, topologyKeyType: Label, maxSkew: 1, whenUnsatisfiable: "+
			"DoNotSchedule}]}"))
	clitest.Golden(t, "capped.table", run(t, input.String(), "simulate", "-f", "-").Out)
}

// files returns the files of a folder in testdata.
func files(t *testing.T, folder string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join("testdata", folder, "*"))
	if err != nil || len(found) == 0 {
		t.Fatalf("listing %s: %v, %v", folder, found, err)
	}
	return found
}
