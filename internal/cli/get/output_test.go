package get_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/berth-project/berth/internal/cli/clitest"
	"github.com/berth-project/berth/internal/cli/command"
)

// TestGetPrintsAsKubectlDoes holds the outputs that take an expression, the order, and the columns of labels.
func TestGetPrintsAsKubectlDoes(t *testing.T) {
	expression := func(text string) string {
		path := filepath.Join(t.TempDir(), "expression")
		if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, tc := range map[string]struct{ args, want string }{
		"names by JSONPath":         {"placements -o jsonpath={.items[*].metadata.name}", "ledger new web"},
		"names under the kind":      {"placements -o jsonpath={.placements[*].name}", "ledger new web"},
		"a field of one thing":      {"cluster eu-2 -o jsonpath={.metadata.name}:{.accepted}", "eu-2:true"},
		"a field that is not there": {"cluster eu-2 -o jsonpath={.nothing}", ""},
		"a JSONPath as JSON":        {"pl web -n shop -o jsonpath-as-json={.selected}", "[\n    2\n]\n"},
		"a JSONPath from a file":    {"pl web -n shop -o jsonpath-file=" + expression("{.held}"), `["eu-2"]`},
		"a Go template": {
			"pl -n shop -o go-template={{range.items}}{{.metadata.namespace}}/{{.name}},{{end}}",
			"shop/new,shop/web,",
		},
		"a Go template from a file": {"pl web -n shop -o go-template-file=" + expression("{{.wanted}}"), "3"},
		"custom columns": {
			"pl -n shop -o custom-columns=NAME:.metadata.name,SELECTED:{.selected},HELD:held[*],LABEL:.metadata.labels.tier",
			"NAME   SELECTED   HELD     LABEL\nnew    0          <none>   <none>\nweb    2          eu-2     front\n",
		},
		"custom columns without titles": {"pl -n shop --no-headers -o custom-columns-file=" + expression("NAME:.metadata.name"), "new\nweb\n"},
		"ordered by a number": {
			"pl --sort-by=.selected -o name",
			"placement.cluster.open-cluster-management.io/new\n" +
				"placement.cluster.open-cluster-management.io/ledger\nplacement.cluster.open-cluster-management.io/web\n",
		},
		"ordered by a quantity":           {"clusters --sort-by={.memory} -o jsonpath={.items[*].memory}", "33024Mi 64Gi"},
		"what has not the field is first": {"pl --sort-by=wanted -o jsonpath={.items[*].metadata.name}", "ledger new web"},
		"no titles":                       {"sets --no-headers west", "west   ExclusiveLabel   0   -   west-too   -\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := runGet(t, append([]string{"get"}, strings.Fields(tc.args)...)...); got != (clitest.Result{Out: tc.want}) {
				t.Errorf("got %+v, want %q", got, tc.want)
			}
		})
	}
	got := runGet(t, "get", "pl", "--show-labels", "-n", "shop")
	if !strings.Contains(got.Out, "   LABELS\n") || !strings.Contains(got.Out, "   tier=front\n") || !strings.Contains(got.Out, "   -\n") {
		t.Errorf("labels: got %+v", got)
	}
}

// TestOutputsThatAreRefused holds that a wrong expression is named, before anything is read.
func TestOutputsThatAreRefused(t *testing.T) {
	for name, tc := range map[string]struct{ args, want string }{
		"an unknown form": {
			"-o xml",
			`unknown output "xml": use table, wide, json, yaml, name, jsonpath=PATH, go-template=TEMPLATE or custom-columns=TITLE:PATH`,
		},
		"a form alone": {
			"-o custom-columns",
			"-o custom-columns needs an expression after the =, such as -o custom-columns=NAME:.metadata.name,SELECTED:.selected",
		},
		"nothing after the sign": {
			"-o jsonpath=",
			"-o jsonpath needs an expression after the =, such as -o jsonpath='{.items[*].metadata.name}'",
		},
		"a broken JSONPath":    {"-o jsonpath={.items[", "-o jsonpath: "},
		"a broken Go template": {"-o go-template={{", "-o go-template: "},
		"a column without path": {
			"-o custom-columns=NAME",
			`-o custom-columns: "NAME" is no column: write TITLE:PATH, such as NAME:.metadata.name`,
		},
		"a broken path":      {"-o custom-columns=NAME:{.a", "is no path to a field"},
		"a file that is not": {"-o jsonpath-file=nowhere", "-o jsonpath-file: open nowhere"},
		"an order by nothing": {
			"--sort-by=.nothing",
			"--sort-by .nothing: nothing that is shown has such a field; -o json shows those there are",
		},
		"a broken order": {"--sort-by={.a", "--sort-by \"{.a\" is no path to a field"},
	} {
		t.Run(name, func(t *testing.T) {
			got := runGet(t, append([]string{"get", "pl"}, strings.Fields(tc.args)...)...)
			if got.Code != command.ExitRefused || got.Out != "" || !strings.Contains(got.ErrOut, tc.want) {
				t.Errorf("got %+v, want exit code 2 and %q on standard error", got, tc.want)
			}
		})
	}
}

// TestRequestsAreLogged holds that -v shows each request, and that nothing is shown without it.
func TestRequestsAreLogged(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	t.Setenv("KUBECONFIG", "/dev/null")
	want := server.URL + "/apis/cluster.open-cluster-management.io/v1beta1/namespaces/shop/placements"
	if got := run(t, "", "get", "pl", "-n", "shop", "--server", server.URL); strings.Contains(got.ErrOut, want) {
		t.Errorf("without -v: %s", got.ErrOut)
	}
	if got := run(t, "", "get", "pl", "-n", "shop", "--server", server.URL, "-v", "8"); !strings.Contains(got.ErrOut, want) {
		t.Errorf("with -v 8: %s is not in\n%s", want, got.ErrOut)
	}
}

// TestWideStaysWithinTheScreen holds that no line of a wide table is wider than a screen of 100 columns.
func TestWideStaysWithinTheScreen(t *testing.T) {
	const columns = 100
	t.Setenv("COLUMNS", "100")
	for _, kind := range []string{"placements", "clusters", "sets", "groups"} {
		for line := range strings.Lines(runGet(t, "get", kind, "-o", "wide", "--show-labels").Out) {
			if width := utf8.RuneCountInString(strings.TrimRight(line, "\n")); width > columns {
				t.Errorf("get %s -o wide: %d characters: %s", kind, width, line)
			}
		}
	}
}
