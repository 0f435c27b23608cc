package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/internal/cli"
)

const errPipe = syscall.EPIPE

var forms = []string{"table", "yaml", "json"}

func example(name string) string { return filepath.Join("..", "..", "examples", "simulate", name) }

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
				if got.code != cli.ExitOK || got.errOut != "" {
					t.Fatalf("exit code %d, standard error:\n%s", got.code, got.errOut)
				}
				checkGolden(t, "example-"+name+"."+form, got.out)
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
				if got.code != cli.ExitOK {
					t.Fatalf("exit code %d, standard error:\n%s", got.code, got.errOut)
				}
				checkGolden(t, filepath.Base(path)+"."+form, got.out)
				checkGolden(t, filepath.Base(path)+".stderr", got.errOut)
			})
		}
	}
}

// TestRefusedInput holds every fault of every file against its golden file.
func TestRefusedInput(t *testing.T) {
	for _, path := range files(t, "refused") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			got := run(t, "", "simulate", "-f", path)
			if got.code != cli.ExitRefused || got.out != "" {
				t.Errorf("exit code %d, standard output %q; want 2 and nothing", got.code, got.out)
			}
			checkGolden(t, filepath.Base(path)+".stderr", got.errOut)
		})
	}
}

func TestFaultsOfSeveralFilesAreReportedTogether(t *testing.T) {
	got := run(t, "{", "simulate", "-f", "testdata/refused/twice.yaml", "-f", "testdata/missing.yaml", "-f", "-", "-f", "testdata/refused/syntax.json")
	for _, want := range []string{
		"error: 5 faults in the input", "twice.yaml, document 2 (line 6), items[1]: ManagedClusterSet a: is given twice",
		"testdata/missing.yaml: cannot be read: no such file or directory; check the path",
		"standard input, document 1 (line 1): cannot be parsed as JSON", "syntax.json, document 2 (line 2): cannot be parsed as JSON: line 5",
	} {
		if !strings.Contains(got.errOut, want) {
			t.Errorf("%q is not in\n%s", want, got.errOut)
		}
	}
	if got.code != cli.ExitRefused {
		t.Errorf("exit code %d, want 2", got.code)
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
				again := run(t, first.out+"\n---\n"+otherObjects(t, input, first.out),
					"simulate", "-f", "-", "-o", form, "--now", "2026-11-20T10:05:00Z", "--validate", "ignore")
				if again.code != cli.ExitOK {
					t.Fatalf("exit code %d, standard error:\n%s", again.code, again.errOut)
				}
				if diff := cmp.Diff(first.out, again.out); diff != "" {
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
	for _, object := range items(t, result) {
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
		for _, object := range items(t, string(data)) {
			owner := object.Metadata.Labels[clusterv1beta1.PlacementLabel]
			if owner == "" {
				owner, _, _ = strings.Cut(object.Metadata.Name, "-decision-")
			}
			if object.Kind != "Placement" && (object.Kind != "PlacementDecision" || !placements[owner]) {
				fmt.Fprintf(&out, "%s\n---\n", object.raw)
			}
		}
	}
	return out.String()
}

// item is what a test reads of an object.
type item struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Name      string            `json:"name"`
		Namespace string            `json:"namespace"`
		Labels    map[string]string `json:"labels"`
	} `json:"metadata"`
	Status struct {
		Decisions []struct {
			ClusterName string `json:"clusterName"`
		} `json:"decisions"`
	} `json:"status"`
	raw string
}

// items returns the objects of some text, read in the simplest way that will do for these tests.
func items(t *testing.T, text string) []item {
	t.Helper()
	var out []item
	var take func(raw json.RawMessage)
	take = func(raw json.RawMessage) {
		var list struct {
			APIVersion string            `json:"apiVersion"`
			Kind       string            `json:"kind"`
			Items      []json.RawMessage `json:"items"`
		}
		if err := json.Unmarshal(raw, &list); err != nil {
			t.Fatal(err)
		}
		if kind, isList := strings.CutSuffix(list.Kind, "List"); isList {
			for _, member := range list.Items {
				if kind != "" {
					member = typed(t, member, list.APIVersion, kind)
				}
				take(member)
			}
			return
		}
		made := item{raw: string(raw)}
		if err := json.Unmarshal(raw, &made); err != nil {
			t.Fatal(err)
		}
		out = append(out, made)
	}
	text = strings.TrimPrefix(strings.ReplaceAll(text, "\n...\n", "\n---\n"), "%YAML 1.1\n")
	for part := range strings.SplitSeq("\n"+text, "\n---") {
		for _, part := range splitJSON(part) {
			data, err := yaml.YAMLToJSON([]byte(part))
			if err != nil {
				t.Fatal(err)
			}
			if string(data) != "null" {
				take(data)
			}
		}
	}
	return out
}

// splitJSON cuts a document before each line that starts a JSON object.
func splitJSON(part string) []string {
	return strings.Split(strings.ReplaceAll(part, "\n{", "\n\x00{"), "\x00")
}

func typed(t *testing.T, raw json.RawMessage, version, kind string) json.RawMessage {
	t.Helper()
	fields := map[string]any{"apiVersion": version, "kind": kind}
	if err := json.Unmarshal(raw, &fields); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// decisions returns the clusters that each placement gets.
func decisions(t *testing.T, result string) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for _, object := range items(t, result) {
		if object.Kind != "PlacementDecision" {
			continue
		}
		name, _, _ := strings.Cut(object.Metadata.Name, "-decision-")
		for _, decision := range object.Status.Decisions {
			out[name] = append(out[name], decision.ClusterName)
		}
	}
	for _, clusters := range out {
		slices.Sort(clusters)
	}
	return out
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
			if diff := cmp.Diff(tc.want, decisions(t, run(t, "", args...).out)["patient"]); diff != "" {
				t.Errorf("clusters (-want +got):\n%s", diff)
			}
		})
	}
}

const fleet = `
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedClusterList
items:
- {metadata: {name: c1}}
- {metadata: {name: c2}}
---
apiVersion: cluster.open-cluster-management.io/v1beta2
kind: ManagedClusterSet
metadata: {name: all}
spec: {clusterSelector: {selectorType: LabelSelector, labelSelector: {}}}
---
apiVersion: cluster.open-cluster-management.io/v1beta2
kind: ManagedClusterSetBinding
metadata: {name: all}
spec: {clusterSet: all}
`

func placement(name, metadata, spec string) string {
	return fmt.Sprintf("\n---\napiVersion: cluster.open-cluster-management.io/v1beta1\nkind: Placement\nmetadata: {name: %s, %s}\nspec: {%s}\n",
		name, metadata, spec)
}

func slice(name, metadata, cluster string) string {
	return fmt.Sprintf("\n---\napiVersion: cluster.open-cluster-management.io/v1beta1\nkind: PlacementDecision\nmetadata: {name: %s, %s}\n"+
		"status: {decisions: [{clusterName: %s, reason: ''}]}\n", name, metadata, cluster)
}

func TestBalanceCountsWhatOthersHold(t *testing.T) {
	const one, disabled = "numberOfClusters: 1", "annotations: {cluster.open-cluster-management.io/experimental-scheduling-disable: 'true'}"
	cases := map[string]struct {
		input string
		want  string
	}{
		"no decisions":                            {input: "", want: "c1"},
		"a placement decided before":              {input: placement("a", "", one), want: "c2"},
		"a placement that comes later":            {input: placement("z", "", one), want: "c1"},
		"later, but holding since before":         {input: placement("z", "", one) + slice("z-decision-1", "", "c1"), want: "c2"},
		"a placement that is not given":           {input: slice("other-decision-1", "namespace: elsewhere", "c1"), want: "c2"},
		"a slice of no placement at all":          {input: slice("by-hand", "", "c1"), want: "c2"},
		"a slice named like the placement itself": {input: slice("p", "", "c1"), want: "c2"},
		"a disabled placement":                    {input: placement("z", disabled, one) + slice("z-decision-1", "", "c1"), want: "c2"},
		"a placement that is being deleted": {
			input: placement("z", "deletionTimestamp: '2026-11-20T09:00:00Z'", one) + slice("z-decision-1", "", "c1"), want: "c2",
		},
		"the placement's own slice": {input: slice("p-decision-1", "", "c1"), want: "c1"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := run(t, fleet+tc.input+placement("p", "", one), "simulate", "-f", "-", "-o", "json")
			if got.code != cli.ExitOK {
				t.Fatal(got.errOut)
			}
			if diff := cmp.Diff([]string{tc.want}, decisions(t, got.out)["p"]); diff != "" {
				t.Errorf("clusters (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRequireSatisfied(t *testing.T) {
	const disabled = "annotations: {cluster.open-cluster-management.io/experimental-scheduling-disable: 'true'}"
	const satisfied = "}\nstatus: {conditions: [{type: PlacementSatisfied, status: 'True', reason: R, message: m, lastTransitionTime: '2026-11-01T00:00:00Z'}]"
	cases := map[string]struct {
		input string
		code  int
		want  string
	}{
		"satisfied":              {input: placement("p", "", "numberOfClusters: 2")},
		"too few clusters":       {input: placement("p", "", "numberOfClusters: 3"), code: 1, want: "1 placement not satisfied:\n  default/p: NotAllDecisionsScheduled: 1 cluster decisions unscheduled\n"},
		"one of two":             {input: placement("p", "", "") + placement("q", "namespace: unbound", ""), code: 1, want: "unbound/q: NoManagedClusterSetBindings"},
		"disabled and satisfied": {input: placement("p", disabled, satisfied)},
		"disabled and never decided": {
			input: placement("p", disabled, ""), code: 1, want: "default/p: it was never decided",
		},
		"misconfigured": {
			input: placement("p", "", "predicates: [{requiredClusterSelector: {celSelector: {celExpressions: ['managedCluster.spec.nowhere == 1']}}}]"), code: 1, want: "default/p: NotAllDecisionsScheduled",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := run(t, fleet+tc.input, "simulate", "-f", "-", "--require-satisfied")
			if got.code != tc.code || !strings.Contains(got.errOut, tc.want) || got.out == "" {
				t.Errorf("got %+v, want exit code %d and %q", got, tc.code, tc.want)
			}
			if without := run(t, fleet+tc.input, "simulate", "-f", "-"); without.code != cli.ExitOK {
				t.Errorf("without the flag: exit code %d, want 0", without.code)
			}
		})
	}
}

func TestNamespaceFlag(t *testing.T) {
	got := run(t, fleet+placement("p", "", ""), "simulate", "-f", "-", "-n", "mine", "-o", "json")
	for _, object := range items(t, got.out) {
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
		"no placement":    {fleet, "no Placement is given"},
		"an empty file":   {"", "no Placement is given"},
		"a misspelt kind": {fleet + "\n---\n" + group + "kind: Placment\nmetadata: {name: p}\n", `unknown kind "Placment" of cluster.open-cluster-management.io; did you mean Placement?`},
		"a misspelt field": {
			fleet + "\n---\n" + group + "kind: Placement\nmetadata: {name: p, namespace: ns}\nspec: {numberOfCluster: 3}\n",
			`unknown field "spec.numberOfCluster"; did you mean numberOfClusters?`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			base := filepath.Join(t.TempDir(), "base.yaml")
			if err := os.WriteFile(base, []byte(tc.input), 0o600); err != nil {
				t.Fatal(err)
			}
			played := filepath.Join(t.TempDir(), "scenario.yaml")
			content := "apiVersion: scenario.cluster.open-cluster-management.io/v1alpha1\nkind: Scenario\nstart: 2026-11-20T10:00:00Z\nbase: {files: [" + base + "]}\nsteps: [{expect: []}]\n"
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
func checkRefused(t *testing.T, reason string, got result) {
	t.Helper()
	if got.code != cli.ExitRefused || strings.Contains(got.out, "1 passed") || !strings.Contains(got.errOut, reason) {
		t.Errorf("exit code %d, standard output %q, standard error %q; want 2, and %q", got.code, got.out, got.errOut, reason)
	}
}

func TestValidateUnknownFields(t *testing.T) {
	input := fleet + "\n---\napiVersion: cluster.open-cluster-management.io/v1beta1\nkind: Placment\nmetadata: {name: q}\n" + placement("p", "", "numberOfCluster: 3")
	for level, want := range map[string][]string{
		"warn": {
			"dropped what a server would drop: spec.numberOfCluster", "did you mean Placement?", "skipped objects of other kinds",
		},
		"ignore": {"skipped objects of other kinds: Placment.cluster.open-cluster-management.io 1\n"},
	} {
		got := run(t, input, "simulate", "-f", "-", "--validate", level)
		if got.code != cli.ExitOK {
			t.Errorf("%s: exit code %d, standard error %s", level, got.code, got.errOut)
		}
		for _, text := range want {
			if !strings.Contains(got.errOut, text) {
				t.Errorf("%s: %q is not in %s", level, text, got.errOut)
			}
		}
		if level == "ignore" && strings.Contains(got.errOut, "warning") {
			t.Errorf("ignore: %s", got.errOut)
		}
	}
	if got := run(t, input, "simulate", "-f", "-", "--validate", "loose"); got.code != cli.ExitRefused || !strings.Contains(got.errOut, `unknown validation "loose": use strict, warn, ignore`) {
		t.Errorf("loose: %+v", got)
	}
}

func TestManyClustersAreCounted(t *testing.T) {
	var input strings.Builder
	input.WriteString(fleet)
	for i := range 250 {
		fmt.Fprintf(&input, "\n---\n{apiVersion: cluster.open-cluster-management.io/v1, kind: ManagedCluster, metadata: {name: x%03d, labels: {shard: l%d}}}", i, i%8)
	}
	const matches = "predicates: [{requiredClusterSelector: {labelSelector: {matchLabels: {shard: l1}}}}]"
	const fails = `predicates: [{requiredClusterSelector: {celSelector: {celExpressions: ['managedCluster.metadata.labels["a label that no cluster has"] == "x"']}}}]`
	input.WriteString(placement("all", "", "") + placement("few", "", matches) + placement("keyed", "", fails))
	checkGolden(t, "many.table", run(t, input.String(), "simulate", "-f", "-").out)
}

func TestRareReasonsArePutTogether(t *testing.T) {
	var input strings.Builder
	input.WriteString(fleet)
	for i := range 20 {
		fmt.Fprintf(&input, "\n---\n{apiVersion: cluster.open-cluster-management.io/v1, kind: ManagedCluster, metadata: {name: x%02d}, "+
			"spec: {taints: [{key: example.com/rack, value: rack-%d-%s, effect: NoSelect}]}}", i, i/3, strings.Repeat("long", 20))
	}
	checkGolden(t, "reasons.table", run(t, input.String()+placement("p", "", "numberOfClusters: 1"), "simulate", "-f", "-").out)
}

func TestWhatKeepsClustersApartIsTold(t *testing.T) {
	var input strings.Builder
	input.WriteString(fleet)
	for i := range 6 {
		fmt.Fprintf(&input, "\n---\n{apiVersion: cluster.open-cluster-management.io/v1, kind: ManagedCluster, metadata: {name: x%d, labels: {zone: z%d}}}", i, i/4)
	}
	input.WriteString(placement("apart", "",
		"numberOfClusters: 4, spreadPolicy: {antiAffinity: [{topologyKey: zone, topologyKeyType: Label}]}"))
	input.WriteString(placement("even", "",
		"numberOfClusters: 6, spreadPolicy: {spreadConstraints: [{topologyKey: zone, topologyKeyType: Label, maxSkew: 1, whenUnsatisfiable: DoNotSchedule}]}"))
	checkGolden(t, "capped.table", run(t, input.String(), "simulate", "-f", "-").out)
}
