package diff_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-project/berth/internal/cli/clitest"
	"github.com/berth-project/berth/internal/cli/command"
	"github.com/berth-project/berth/internal/cli/diff"
)

func run(t *testing.T, stdin string, args ...string) clitest.Result {
	t.Helper()
	return clitest.Run(t, stdin, args, diff.NewCommand)
}

// baseFiles writes the wide fleet to a file and returns its name.
func baseFiles(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "base.yaml")
	if err := os.WriteFile(path, []byte(clitest.WideFleet()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const smallerPlacement = `{apiVersion: cluster.open-cluster-management.io/v1beta1, kind: Placement, metadata: {name: web, namespace: shop},
 spec: {numberOfClusters: 3, predicates: [{requiredClusterSelector: {labelSelector: {matchLabels: {region: eu}}}}],
  prioritizerPolicy: {configurations: [{scoreCoordinate: {builtIn: ResourceAllocatableCPU}, weight: 2}]}}}
`

// misspeltPlacement reads a claim that no cluster has.
const misspeltPlacement = `{apiVersion: cluster.open-cluster-management.io/v1beta1, kind: Placement, metadata: {name: web, namespace: shop},
 spec: {numberOfClusters: 5, predicates: [{requiredClusterSelector: {celSelector: {celExpressions: ['managedCluster.claim("platfrm") == "cloud"']}}}]}}
`

func TestDiff(t *testing.T) {
	for name, tc := range map[string]struct {
		stdin string
		args  []string
		code  int
	}{
		"smaller":   {smallerPlacement, []string{"-f", "-"}, command.ExitUnsatisfied},
		"misspelt":  {misspeltPlacement, []string{"-f", "-"}, command.ExitUnsatisfied},
		"drain":     {"", []string{"--drain", "region=eu"}, command.ExitUnsatisfied},
		"remove":    {"", []string{"--remove", "eu-39"}, command.ExitUnsatisfied},
		"cordon":    {"", []string{"--cordon", "eu-39"}, command.ExitOK},
		"delete":    {"", []string{"--delete", "placement/shop/web", "--delete", "set/all"}, command.ExitUnsatisfied},
		"unbind":    {"", []string{"--delete", "binding/shop/all"}, command.ExitUnsatisfied},
		"elsewhere": {"", []string{"--drain", "region=us"}, command.ExitOK},
	} {
		for _, width := range []string{"80", "120"} {
			t.Run(name+"/"+width, func(t *testing.T) {
				t.Setenv("COLUMNS", width)
				got := run(t, tc.stdin, append([]string{"diff", "--base", baseFiles(t)}, tc.args...)...)
				if got.Code != tc.code || got.ErrOut != "" {
					t.Fatalf("exit code %d, want %d; standard error:\n%s", got.Code, tc.code, got.ErrOut)
				}
				clitest.Golden(t, "diff-"+name+"-"+width+".txt", got.Out)
			})
		}
	}
}

func TestDiffAsData(t *testing.T) {
	got := run(t, "", "diff", "--base", baseFiles(t), "--remove", "eu-39", "-o", "json")
	type clusterMove struct {
		Cluster string `json:"cluster"`
		From    string `json:"from"`
		Verdict string `json:"verdict"`
		Why     string `json:"why"`
	}
	var of struct {
		Kind       string `json:"kind"`
		Moved      int    `json:"moved"`
		Lost       int    `json:"lost"`
		Gained     int    `json:"gained"`
		Placements []struct {
			Lost   []clusterMove `json:"lost"`
			Gained []clusterMove `json:"gained"`
		} `json:"placements"`
	}
	if err := json.Unmarshal([]byte(got.Out), &of); err != nil {
		t.Fatal(err)
	}
	if got.Code != command.ExitUnsatisfied || of.Kind != "PlacementDiff" || of.Moved != 1 || of.Lost != 1 || of.Gained != 1 ||
		len(of.Placements) != 1 {
		t.Fatalf("exit code %d, got %+v", got.Code, of)
	}
	lost, gained := of.Placements[0].Lost[0], of.Placements[0].Gained[0]
	if lost.Cluster != "eu-39" || lost.Why != "there is no such cluster" || lost.From != "group 0, canary" {
		t.Errorf("lost %+v", lost)
	}
	if gained.Cluster != "eu-29" || gained.Verdict != "Beaten" {
		t.Errorf("gained %+v", gained)
	}
}

func TestDiffMisused(t *testing.T) {
	base := baseFiles(t)
	empty := filepath.Join(t.TempDir(), "empty.yaml")
	if err := os.WriteFile(empty, []byte("# nothing\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		stdin string
		args  []string
		want  string
	}{
		"no change":               {"", nil, "no change to look at: give one with -f, --delete, --cordon, --drain or --remove"},
		"an argument":             {"", []string{"x"}, `unexpected argument "x"`},
		"an unknown output":       {"", []string{"--remove", "eu-39", "-o", "yaml"}, `unknown output "yaml": use json, or leave it out`},
		"an instant that is none": {"", []string{"--remove", "eu-39", "--now", "noon"}, `--now "noon" is not in RFC 3339 form`},
		"neither on nor off":      {"", []string{"--remove", "eu-39", "--brake", "no"}, "--brake no: want on or off"},
		"no selector":             {"", []string{"--drain", "a=b=c"}, `--drain "a=b=c" is no label selector`},
		"every cluster":           {"", []string{"--drain", ""}, "--drain is empty: name the labels of the clusters to drain"},
		"no cluster to drain":     {"", []string{"--drain", "region=mars"}, "--drain region=mars: no cluster matches"},
		"no cluster to cordon":    {"", []string{"--cordon", "x"}, "--cordon x: there is no such cluster"},
		"no cluster to remove":    {"", []string{"--remove", "x"}, "--remove x: there is no such cluster"},
		"nothing to delete":       {"", []string{"--delete", "set/x"}, "--delete set/x: there is no such object"},
		"no binding":              {"", []string{"--delete", "binding/shop/x"}, "--delete binding/shop/x: there is no such object"},
		"no placement":            {"", []string{"--delete", "placement/web"}, "--delete placement/default/web: there is no such object"},
		"no score":                {"", []string{"--delete", "score/eu-39/x"}, "--delete score/eu-39/x: there is no such object"},
		"an unknown kind":         {"", []string{"--delete", "pod/x"}, "--delete pod/x: there is no such file; or name an object: cluster/NAME"},
		"half a name": {
			"",
			[]string{"--delete", "placement/"},
			"--delete placement/: want placement/NAME or placement/NAMESPACE/NAME",
		},
		"too much of a name": {"", []string{"--delete", "cluster/a/b"}, "--delete cluster/a/b: want cluster/NAME"},
		"decisions": {
			clitest.Slice("web-decision-1", "namespace: shop", "eu-01"),
			[]string{"-f", "-"},
			"the change holds PlacementDecisions: they are what follows from a change",
		},
		"a change that a hub refuses": {
			strings.Replace(smallerPlacement, "numberOfClusters: 3", "numberOfClusters: -3", 1),
			[]string{"-f", "-"},
			"spec.numberOfClusters: Invalid value: -3",
		},
		"an empty pipe": {
			"",
			[]string{"-f", "-"},
			"the change holds no object that Berth knows; check that -f and --delete name manifests",
		},
		"an empty file":     {"", []string{"-f", empty}, "the change holds no object that Berth knows"},
		"an empty deletion": {"", []string{"--delete", empty}, "the change holds no object that Berth knows"},
		"other objects only": {
			"{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}",
			[]string{"-f", "-"},
			"the change holds no object that Berth knows",
		},
		"one pipe, two uses": {
			smallerPlacement,
			[]string{"-f", "-", "--delete", "-"},
			"standard input can be read once: give - to one of -f, --base and --delete only",
		},
		"the base from a pipe":  {smallerPlacement, []string{"-f", "-", "--base", "-"}, "standard input can be read once"},
		"a cordon of nothing":   {"", []string{"--cordon", ""}, "--cordon is empty: name a cluster"},
		"a removal of nothing":  {"", []string{"--remove", ""}, "--remove is empty: name a cluster"},
		"a deletion of nothing": {"", []string{"--delete", ""}, "--delete is empty: name an object"},
		"cordoned and removed": {
			"",
			[]string{"--cordon", "eu-39", "--remove", "eu-39"},
			"--cordon and --remove both name eu-39: leave one of them out",
		},
		"a file that is not": {"", []string{"-f", "nowhere.yaml"}, "nowhere.yaml: cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t, tc.stdin, append([]string{"diff", "--base", base}, tc.args...)...)
			if got.Code != command.ExitRefused || got.Out != "" || !strings.Contains(got.ErrOut, tc.want) {
				t.Errorf("got %+v, want exit code 2 and %q on standard error", got, tc.want)
			}
		})
	}
}

// TestDiffOfAnEmptyFileAndAFlag finds a change in the flag.
func TestDiffOfAnEmptyFileAndAFlag(t *testing.T) {
	if got := run(t, "", "diff", "--base", baseFiles(t), "-f", "-", "--cordon", "eu-39"); got.Code != command.ExitOK {
		t.Errorf("got %+v", got)
	}
}
