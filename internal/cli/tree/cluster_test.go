package tree_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/berth-project/berth/internal/cli/clitest"
	"github.com/berth-project/berth/internal/cli/command"
)

// runFiles runs a command on the files of the tests of get.
func runFiles(t *testing.T, args ...string) clitest.Result {
	t.Helper()
	return run(t, "", append(args, "-f", "../get/testdata/look")...)
}

// TestTreeOfACluster holds what the tree is on a screen of 80 and one of 120 columns, in a pipe, and as data.
func TestTreeOfACluster(t *testing.T) {
	t.Setenv("NO_COLOR", "")
	for name, cluster := range map[string]string{"tree": "eu-1", "tree-of-nothing": "us-1"} {
		for screen, columns := range map[string]string{"80": "80", "120": "120", "pipe": ""} {
			t.Run(name+"/"+screen, func(t *testing.T) {
				t.Setenv("COLUMNS", columns)
				got := runFiles(t, "tree", "cluster", cluster)
				if got.Code != command.ExitOK || got.ErrOut != "" {
					t.Fatalf("got %+v", got)
				}
				clitest.Golden(t, "look-"+name+"."+screen+".golden", got.Out)
			})
		}
	}
	asJSON, asYAML := runFiles(t, "tree", "cluster", "eu-1", "-o", "json"), runFiles(t, "tree", "cluster", "eu-1", "-o", "yaml")
	clitest.Golden(t, "look-tree.json.golden", asJSON.Out)
	converted, err := yaml.YAMLToJSON([]byte(asYAML.Out))
	if err != nil {
		t.Fatal(err)
	}
	var first, second any
	if err := errors.Join(json.Unmarshal([]byte(asJSON.Out), &first), json.Unmarshal(converted, &second)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("data (-json +yaml):\n%s", diff)
	}
}

func TestTreeOfNoCluster(t *testing.T) {
	want := clitest.Result{Code: command.ExitRefused, ErrOut: "error: there is no cluster \"x\"\n"}
	if got := runFiles(t, "tree", "cluster", "x"); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
