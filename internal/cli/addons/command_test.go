package addons_test

import (
	"strings"
	"testing"

	"github.com/berth-project/berth/internal/cli/addons"
	"github.com/berth-project/berth/internal/cli/clitest"
	"github.com/berth-project/berth/internal/cli/command"
)

func run(t *testing.T, stdin string, args ...string) clitest.Result {
	t.Helper()
	return clitest.Run(t, stdin, args, addons.NewCommand)
}

func TestMisuseOfAddOn(t *testing.T) {
	t.Setenv("KUBECONFIG", "../testdata/kubeconfig.yaml")
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"an unknown command": {[]string{"state"}, `unknown command "state"`},
		"no add-on": {
			[]string{"status"},
			"name one add-on: kubectl berth addon status NAME\nSee 'kubectl berth addon status --help'.",
		},
		"two add-ons":             {[]string{"status", "a", "b"}, "name one add-on"},
		"an unknown form":         {[]string{"status", "metrics", "-o", "wide"}, `unknown output "wide": use table, yaml or json`},
		"a hub that is not there": {[]string{"status", "metrics"}, "reading the ClusterManagementAddOn metrics: "},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t, "", append([]string{"addon"}, tc.args...)...)
			if got.Code != command.ExitRefused || got.Out != "" || !strings.Contains(got.ErrOut, tc.want) {
				t.Errorf("got %+v, want exit code 2 and %q on standard error", got, tc.want)
			}
		})
	}
}
