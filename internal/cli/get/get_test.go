package get_test

import (
	"encoding/json"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/berth-project/berth/internal/cli/clitest"
	"github.com/berth-project/berth/internal/cli/command"
	"github.com/berth-project/berth/internal/cli/get"
)

func run(t *testing.T, stdin string, args ...string) clitest.Result {
	t.Helper()
	return clitest.Run(t, stdin, args, get.NewCommand)
}

// runGet runs a command on the files in testdata/look.
func runGet(t *testing.T, args ...string) clitest.Result {
	t.Helper()
	return run(t, "", append(args, "-f", "testdata/look")...)
}

// TestGet holds what each command shows on a screen of 80 and one of 120 columns, in a pipe, and as data.
func TestGet(t *testing.T) {
	t.Setenv("NO_COLOR", "")
	for name, args := range map[string][]string{
		"placements":                {"get", "placements"},
		"placements-wide":           {"get", "pl", "-o", "wide"},
		"placements-of-a-namespace": {"get", "pl", "-n", "shop"},
		"clusters":                  {"get", "clusters"},
		"clusters-wide":             {"get", "mcl", "-o", "wide"},
		"sets":                      {"get", "sets"},
		"sets-wide":                 {"get", "mclset", "-o", "wide"},
		"groups":                    {"get", "groups"},
	} {
		for screen, columns := range map[string]string{"80": "80", "120": "120", "pipe": ""} {
			t.Run(name+"/"+screen, func(t *testing.T) {
				t.Setenv("COLUMNS", columns)
				got := runGet(t, args...)
				if got.Code != command.ExitOK || got.ErrOut != "" {
					t.Fatalf("got %+v", got)
				}
				clitest.Golden(t, "look-"+name+"."+screen+".golden", got.Out)
			})
		}
	}
	for name, args := range map[string][]string{
		"placements": {"get", "placements"}, "clusters": {"get", "clusters"}, "sets": {"get", "sets"}, "groups": {"get", "groups"},
	} {
		t.Run(name+"/data", func(t *testing.T) {
			asJSON, asYAML := runGet(t, append(args, "-o", "json")...), runGet(t, append(args, "-o", "yaml")...)
			clitest.Golden(t, "look-"+name+".json.golden", asJSON.Out)
			converted, err := yaml.YAMLToJSON([]byte(asYAML.Out))
			if err != nil {
				t.Fatal(err)
			}
			if !equalJSON(t, asJSON.Out, string(converted)) {
				t.Errorf("yaml says other things than json:\n%s", asYAML.Out)
			}
		})
	}
}

func equalJSON(t *testing.T, a, b string) bool {
	t.Helper()
	var out [2]string
	for i, text := range []string{a, b} {
		var value any
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		out[i] = string(data)
	}
	return out[0] == out[1]
}

func TestGetFinds(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"a cluster by name": {[]string{"cluster", "eu-2"}, "managedcluster.cluster.open-cluster-management.io/eu-2\n"},
		"clusters by label": {[]string{"clusters", "-l", "region in (us)"}, "managedcluster.cluster.open-cluster-management.io/us-1\n"},
		"a set":             {[]string{"ClusterSet", "west"}, "managedclusterset.cluster.open-cluster-management.io/west\n"},
		"placements of a namespace": {
			[]string{"pl", "-n", "shop"},
			"placement.cluster.open-cluster-management.io/new\nplacement.cluster.open-cluster-management.io/web\n",
		},
		"placements by label":        {[]string{"pl", "-l", "tier=front"}, "placement.cluster.open-cluster-management.io/web\n"},
		"groups of a placement":      {[]string{"groups", "web"}, "shop/web/0\nshop/web/1\n"},
		"groups by placement labels": {[]string{"gr", "-l", "tier=front"}, "shop/web/0\nshop/web/1\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got := runGet(t, append([]string{"get", "-o", "name"}, tc.args...)...)
			if got != (clitest.Result{Out: tc.want}) {
				t.Errorf("got %+v, want %q", got, tc.want)
			}
		})
	}
}

func TestGetFindsNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want clitest.Result
	}{
		"no such cluster": {
			[]string{"get", "cluster", "x"},
			clitest.Result{Code: command.ExitRefused, ErrOut: "error: there is no cluster \"x\" in the files\n"},
		},
		"no such placement": {
			[]string{"get", "pl", "x", "-n", "shop"},
			clitest.Result{Code: command.ExitRefused, ErrOut: "error: there is no placement \"x\" in the namespace shop\n"},
		},
		"no such group": {
			[]string{"get", "group", "x"},
			clitest.Result{Code: command.ExitRefused, ErrOut: "error: there is no group of a placement \"x\" in the files\n"},
		},
		"nothing in the namespace": {[]string{"get", "pl", "-n", "empty"}, clitest.Result{ErrOut: "no placements in the namespace empty\n"}},
		"nothing, as data": {
			[]string{"get", "pl", "-n", "empty", "-o", "json"},
			clitest.Result{Out: "{\n    \"placements\": []\n}\n", ErrOut: "no placements in the namespace empty\n"},
		},
		"nothing with the label": {[]string{"get", "sets", "-l", "a=b"}, clitest.Result{ErrOut: "no sets in the files\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := runGet(t, tc.args...); got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
}
