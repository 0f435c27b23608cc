package cli_test

import (
	"strings"
	"testing"

	"github.com/berth-project/berth/internal/cli/clitest"
	"github.com/berth-project/berth/internal/cli/command"
)

// TestMisspeltWordsGetASuggestion holds that a misspelt command, flag or kind is named, with what it most likely
// stands for, whatever else is on the command line.
func TestMisspeltWordsGetASuggestion(t *testing.T) {
	t.Setenv("KUBECONFIG", "/dev/null")
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"a command":               {[]string{"simulat"}, `unknown command "simulat"; did you mean simulate?`},
		"a command before flags":  {[]string{"simulat", "-f", "x"}, `unknown command "simulat"; did you mean simulate?`},
		"a command below another": {[]string{"rollout", "plam", "--strategy", "x"}, `unknown command "plam"; did you mean plan?`},
		"a command like no other": {[]string{"launch", "-f", "x"}, "unknown command \"launch\"\nSee 'kubectl berth --help'."},
		"a flag":                  {[]string{"get", "pl", "--namspace", "shop"}, "unknown flag: --namspace; did you mean --namespace?"},
		"a flag with a value":     {[]string{"simulate", "--requiresatisfied=true"}, "did you mean --require-satisfied?"},
		"a flag like no other":    {[]string{"simulate", "--launch"}, "unknown flag: --launch\n"},
		"a kind": {
			[]string{"get", "placmentz"},
			`unknown kind "placmentz": use placements, clusters, sets or groups; did you mean placements?`,
		},
		"a kind with a group": {[]string{"get", "placments.cluster.open-cluster-management.io"}, "did you mean placements?"},
		"a kind before a slash": {
			[]string{"get", "cluser/eu-1"},
			`unknown kind "cluser": use placements, clusters, sets or groups; did you mean cluster?`,
		},
		"a kind to explain": {
			[]string{"explain", "placment", "web"},
			`unknown kind "placment": use explain placement NAME, explain manifestworkreplicaset NAME or explain manifestwork NAME; did you mean placement?`,
		},
		"a kind with a tree": {
			[]string{"tree", "clutser", "eu-1"},
			`unknown kind "clutser": only a cluster, a placement and a manifestworkreplicaset have a tree; did you mean cluster?`,
		},
		"a kind to delete":                  {[]string{"diff", "--delete", "managedclustersets/prod"}, "no kubeconfig"},
		"a misspelt kind to delete":         {[]string{"diff", "--delete", "managedclustrset/prod"}, "did you mean managedclusterset?"},
		"a kind to delete with two slashes": {[]string{"diff", "--delete", "set/a/b"}, "--delete set/a/b: want set/NAME"},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t, "", tc.args...)
			if got.Code != command.ExitRefused || got.Out != "" || !strings.Contains(got.ErrOut, tc.want) {
				t.Errorf("got %+v, want exit code 2 and %q on standard error", got, tc.want)
			}
		})
	}
}

// TestKindsAreSpeltAsKubectlSpellsThem holds that every spelling of a kind and a name that kubectl takes means the same.
func TestKindsAreSpeltAsKubectlSpellsThem(t *testing.T) {
	want := runGet(t, "get", "cluster", "eu-2")
	for _, spelling := range [][]string{
		{"clusters", "eu-2"},
		{"managedcluster/eu-2"},
		{"mcl/eu-2"},
		{"ManagedClusters", "eu-2"},
		{"managedclusters.cluster.open-cluster-management.io/eu-2"},
		{"managedclusters.v1.cluster.open-cluster-management.io", "eu-2"},
	} {
		if got := runGet(t, append([]string{"get"}, spelling...)...); got != want || got.Code != command.ExitOK {
			t.Errorf("get %q: got %+v, want %+v", spelling, got, want)
		}
	}
	if got, want := runGet(t, "tree", "mcl/eu-1"), runGet(t, "tree", "cluster", "eu-1"); got != want || got.Code != command.ExitOK {
		t.Errorf("tree mcl/eu-1: got %+v, want %+v", got, want)
	}
	want = run(t, clitest.WideFleet(), "explain", "placement", "web", "-n", "shop", "-f", "-")
	for _, spelling := range [][]string{{"web"}, {"placement/web"}, {"pl", "web"}, {"placements.cluster.open-cluster-management.io/web"}} {
		got := run(t, clitest.WideFleet(), append([]string{"explain", "-n", "shop", "-f", "-"}, spelling...)...)
		if got != want || got.Code != command.ExitOK {
			t.Errorf("explain %q: got %+v, want %+v", spelling, got, want)
		}
	}
}

// TestDeleteTakesTheKindsOfKubectl holds that each name of a kind deletes the same object.
func TestDeleteTakesTheKindsOfKubectl(t *testing.T) {
	deleted := func(object string) clitest.Result {
		return run(t, "", "diff", "--base", "get/testdata/look", "--delete", object)
	}
	for want, spellings := range map[string][]string{
		"set/west":           {"managedclusterset/west", "managedclustersets/west", "mclset/west", "clusterset/west", "ManagedClusterSet/west"},
		"cluster/eu-1":       {"managedcluster/eu-1", "mcl/eu-1", "managedclusters.cluster.open-cluster-management.io/eu-1"},
		"placement/shop/web": {"placements/shop/web", "pl/shop/web", "placement.cluster.open-cluster-management.io/shop/web"},
	} {
		expected := deleted(want)
		if expected.Code == command.ExitRefused {
			t.Errorf("--delete %s: %+v", want, expected)
		}
		for _, spelling := range spellings {
			if got := deleted(spelling); got != expected {
				t.Errorf("--delete %s: got %+v, want %+v as for %s", spelling, got, expected, want)
			}
		}
	}
}

// runGet runs a command on the files of the tests of get.
func runGet(t *testing.T, args ...string) clitest.Result {
	t.Helper()
	return run(t, "", append(args, "-f", "get/testdata/look")...)
}
