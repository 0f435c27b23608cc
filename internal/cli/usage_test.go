package cli_test

import (
	"strings"
	"testing"

	"github.com/berth-project/berth/internal/cli/command"
)

func TestMisuseOfGetAndTree(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"nothing to get":  {[]string{"get"}, "say what to show: placements, clusters, sets or groups\nSee 'kubectl berth get --help'."},
		"an unknown kind": {[]string{"get", "pods"}, `unknown kind "pods": use placements, clusters, sets or groups`},
		"two names":       {[]string{"get", "pl", "a", "b"}, `unexpected argument "b": one name at a time, or -l for several`},
		"an unknown output": {
			[]string{"get", "pl", "-o", "xml"},
			`unknown output "xml": use table, wide, json, yaml, name, jsonpath=PATH, go-template=TEMPLATE or custom-columns=TITLE:PATH`,
		},
		"a name everywhere":     {[]string{"get", "pl", "a", "-A"}, "a name is looked up in one namespace: give -n instead of -A"},
		"one namespace and all": {[]string{"get", "pl", "-A", "-n", "shop"}, "-A is every namespace and -n is one"},
		"a name and labels":     {[]string{"get", "pl", "a", "-l", "b=c"}, "give a name or -l, not both"},
		"labels that are none":  {[]string{"get", "pl", "-l", "=="}, `-l "==" is no label selector`},
		"to watch files":        {[]string{"get", "pl", "-w", "-f", "get/testdata/look"}, "files do not change"},
		"to watch as json": {
			[]string{"get", "pl", "-w", "-o", "json"},
			"--watch prints rows: use it with -o table, wide or name, not json",
		},
		"no kubeconfig": {
			[]string{"get", "pl"},
			"error: no kubeconfig: name one with --kubeconfig or in KUBECONFIG, or put it at ~/.kube/config; or read files with -f\n",
		},
		"no kubeconfig for a diff":  {[]string{"diff", "--remove", "a"}, "put it at ~/.kube/config; or read files with --base\n"},
		"none, and no files either": {[]string{"history", "placement", "a"}, "or put it at ~/.kube/config\n"},
		"a kubeconfig that is none": {
			[]string{"get", "pl", "--kubeconfig", "testdata/missing"},
			"error: reading the kubeconfig: stat testdata/missing: no such file or directory",
		},
		"no context of that name": {
			[]string{"get", "pl", "--kubeconfig", "testdata/kubeconfig.yaml", "--context", "x"},
			`reading the kubeconfig: context "x" does not exist`,
		},
		"a hub that is not there": {
			[]string{"get", "pl", "--kubeconfig", "testdata/kubeconfig.yaml"},
			"reading placements: the hub at https://127.0.0.1:1 cannot be reached: dial tcp 127.0.0.1:1: connect: connection refused",
		},
		"a file that is not there": {[]string{"get", "pl", "-f", "testdata/missing"}, "testdata/missing: cannot be read"},
		"no shell":                 {[]string{"completion"}, "say which shell: bash, zsh, fish or powershell"},
		"an unknown shell":         {[]string{"completion", "tcsh"}, `unknown shell "tcsh": use bash, zsh, fish or powershell`},
		"two shells":               {[]string{"completion", "bash", "zsh"}, `unexpected argument "zsh": one shell at a time`},
		"a tree of nothing": {
			[]string{"tree"},
			"name a cluster, a placement or a set of works: tree cluster NAME\nSee 'kubectl berth tree --help'.",
		},
		"a tree of a binding": {
			[]string{"tree", "binding", "x"},
			`unknown kind "binding": only a cluster, a placement and a manifestworkreplicaset have a tree`,
		},
		"a tree of no cluster":    {[]string{"tree", "cluster"}, "name the object: tree cluster NAME"},
		"a tree of two clusters":  {[]string{"tree", "cluster", "a", "b"}, `unexpected argument "b": one object at a time`},
		"an unknown form of tree": {[]string{"tree", "cluster", "a", "-o", "wide"}, `unknown output "wide": use table, json or yaml`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KUBECONFIG", "testdata/no-kubeconfig")
			t.Setenv("KUBERNETES_SERVICE_HOST", "")
			got := run(t, "", tc.args...)
			if got.Code != command.ExitRefused || got.Out != "" || !strings.Contains(got.ErrOut, tc.want) {
				t.Errorf("got %+v, want exit code 2 and %q on standard error", got, tc.want)
			}
		})
	}
}

// TestCompletionOffline completes what needs no hub, and is silent where the hub cannot be reached.
func TestCompletionOffline(t *testing.T) {
	t.Setenv("KUBECONFIG", "testdata/kubeconfig.yaml")
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"kinds":                     {[]string{"get", ""}, "placements\nclusters\nsets\ngroups\n:4\n"},
		"a kind that begins with c": {[]string{"get", "c"}, "clusters\n:4\n"},
		"outputs": {
			[]string{"get", "pl", "-o", ""},
			"table\nwide\njson\nyaml\nname\njsonpath=\njsonpath-as-json=\njsonpath-file=\n" +
				"go-template=\ngo-template-file=\ncustom-columns=\ncustom-columns-file=\n:4\n",
		},
		"contexts":                   {[]string{"get", "pl", "--context", "n"}, "nowhere\n:4\n"},
		"the kind that has a tree":   {[]string{"tree", ""}, "cluster\nplacement\nmanifestworkreplicaset\n:4\n"},
		"names of a hub that is off": {[]string{"get", "pl", ""}, ":4\n"},
		"namespaces of such a hub":   {[]string{"get", "pl", "-n", ""}, ":4\n"},
		"names of an unknown kind":   {[]string{"get", "pods", ""}, ":4\n"},
		"clusters of such a hub":     {[]string{"tree", "cluster", ""}, ":4\n"},
		"nothing after a name":       {[]string{"get", "pl", "a", ""}, ":4\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t, "", append([]string{"__complete"}, tc.args...)...)
			if got.Code != command.ExitOK || got.Out != tc.want || strings.Contains(got.ErrOut, "rror") {
				t.Errorf("got %+v, want %q", got, tc.want)
			}
		})
	}
}

func TestCompletionScripts(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if got := run(t, "", "completion", shell); got.Code != command.ExitOK || !strings.Contains(got.Out, "kubectl-berth") || got.ErrOut != "" {
			t.Errorf("%s: exit code %d, standard error %q", shell, got.Code, got.ErrOut)
		}
	}
}
