package decided_test

import (
	"strings"
	"testing"

	"github.com/berth-project/berth/internal/cli/clitest"
	"github.com/berth-project/berth/internal/cli/command"
	"github.com/berth-project/berth/internal/cli/decided"
)

func run(t *testing.T, stdin string, args ...string) clitest.Result {
	t.Helper()
	return clitest.Run(t, stdin, args, decided.NewCommand)
}

func TestMisuseOfDecisions(t *testing.T) {
	t.Setenv("KUBECONFIG", "../testdata/kubeconfig.yaml")
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"no placement":                  {nil, "name the placement: decisions PLACEMENT\nSee 'kubectl berth decisions --help'."},
		"no placement behind its kind":  {[]string{"placement/"}, "name the placement: decisions PLACEMENT"},
		"two placements":                {[]string{"web", "api"}, `unexpected argument "api": name one placement`},
		"an unknown form":               {[]string{"web", "-o", "yaml"}, `unknown output "yaml": use names, json, matrix or kubeconfig-list`},
		"to wait for less than no time": {[]string{"web", "--timeout", "-1s"}, "--timeout must not be negative"},
		"to watch for some time":        {[]string{"web", "-w", "--timeout", "1s"}, "--watch and --timeout exclude each other"},
		"to watch contexts":             {[]string{"web", "-w", "-o", "kubeconfig-list"}, "use it without -o kubeconfig-list"},
		"the same context for each":     {[]string{"web", "--context-name", "admin"}, "--context-name must have {cluster}"},
		"a context with another line":   {[]string{"web", "--context-name", "{cluster}\nx"}, "--context-name must be one line"},
		"a hub that is not there":       {[]string{"web", "-n", "shop"}, "reading placements: the hub at https://127.0.0.1:1 cannot be reached"},
		"such a hub, placement/NAME": {
			[]string{"placement/web", "-n", "shop"},
			"reading placements: the hub at https://127.0.0.1:1 cannot be reached",
		},
		"such a hub, the kind before it": {
			[]string{"placement", "web", "-n", "shop"},
			"reading placements: the hub at https://127.0.0.1:1 cannot be reached",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t, "", append([]string{"decisions"}, tc.args...)...)
			if got.Code != command.ExitRefused || got.Out != "" || !strings.Contains(got.ErrOut, tc.want) {
				t.Errorf("got %+v, want exit code 2 and %q on standard error", got, tc.want)
			}
		})
	}
}
