package rollout_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-project/berth/internal/cli/clitest"
	"github.com/berth-project/berth/internal/cli/command"
	"github.com/berth-project/berth/internal/cli/rollout"
)

func run(t *testing.T, stdin string, args ...string) clitest.Result {
	t.Helper()
	return clitest.Run(t, stdin, args, rollout.NewCommand)
}

var examples = filepath.Join("..", "..", "..", "examples", "simulate")

func rolloutFile(name string) string { return filepath.Join("testdata", "rollout", name) }

// strategyFile returns the name of a file with a text.
func strategyFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "strategy.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// plan runs the command over the files in testdata.
func plan(t *testing.T, args ...string) clitest.Result {
	t.Helper()
	return run(t, "", append([]string{"rollout", "plan", "-f", rolloutFile("placement.yaml")}, args...)...)
}

func TestRolloutPlan(t *testing.T) {
	progressive := []string{"--strategy", rolloutFile("progressive.yaml")}
	perGroup := []string{"--strategy", rolloutFile("pergroup.yaml")}
	cases := map[string][]string{
		"waves":           progressive,
		"waves-misspelt":  {"--strategy", rolloutFile("misspelt.yaml")},
		"waves-per-group": perGroup,
		"simulate-loss":   append([]string{"--simulate", "--lose", "us-1", "--seed", "3"}, progressive...),
		"next":            append([]string{"--status", rolloutFile("status.yaml")}, progressive...),
		"next-paused":     append([]string{"--status", rolloutFile("status.yaml"), "shop/web"}, perGroup...),
		"simulate":        append([]string{"--simulate", "--failure-rate", "0.1", "--seed", "3"}, progressive...),
		"simulate-bad": append([]string{
			"--simulate", "--failure-rate", "0.3", "--hang-rate", "0.2", "--duration", "20m", "--spread", "0.1",
			"--seed", "5",
		}, progressive...),
		"simulate-from": append([]string{"--simulate", "--status", rolloutFile("status.yaml"), "web", "-n", "shop"}, progressive...),
	}
	for name, args := range cases {
		t.Run(name, func(t *testing.T) {
			got := plan(t, args...)
			if got.Code != command.ExitOK {
				t.Fatalf("exit code %d, standard error:\n%s", got.Code, got.ErrOut)
			}
			clitest.Golden(t, "rollout-"+name+".table", got.Out)
			clitest.Golden(t, "rollout-"+name+".stderr", got.ErrOut)
		})
	}
	for name, form := range map[string]string{"waves": "yaml", "next": "json", "simulate": "yaml"} {
		t.Run(name+"/"+form, func(t *testing.T) {
			clitest.Golden(t, "rollout-"+name+"."+form, plan(t, append(cases[name], "-o", form)...).Out)
		})
	}
	clitest.Golden(t, "rollout-help.txt", run(t, "", "rollout", "plan", "--help").Out)
}

// TestRolloutPlanDecidesFirst plans a placement without stored decisions.
func TestRolloutPlanDecidesFirst(t *testing.T) {
	got := run(t, "", "rollout", "plan", "even", "-f", filepath.Join(examples, "first-decision"), "--strategy", rolloutFile("pergroup.yaml"))
	if got.Code != command.ExitOK || !strings.Contains(got.Out, "shop/even: ProgressivePerGroup, ") {
		t.Errorf("got %+v", got)
	}
}

func TestRolloutPlansThatAreRefused(t *testing.T) {
	good := rolloutFile("progressive.yaml")
	cases := map[string]struct {
		args []string
		want string
	}{
		"no strategy": {nil, "name its file with --strategy\nSee 'kubectl berth rollout plan --help'."},
		"a strategy that is missing": {
			[]string{"--strategy", "missing.yaml"},
			"reading the strategy: open missing.yaml: no such file or directory; check the path",
		},
		"an empty strategy": {
			[]string{"--strategy", strategyFile(t, "")},
			"is empty: give its type, All, Progressive or ProgressivePerGroup; type: All starts every cluster at once",
		},
		"a strategy of comments only": {[]string{"--strategy", strategyFile(t, "# type: Progressive\n")}, "is empty: give its type"},
		"a status that is missing": {
			[]string{"--strategy", good, "--status", "missing.yaml"},
			"reading the status: open missing.yaml: no such file or directory; check the path",
		},
		"an unknown field": {[]string{"--strategy", rolloutFile("unknown.yaml")}, `unknown field "rolloutType"`},
		"every fault of a strategy": {
			[]string{"--strategy", rolloutFile("broken.yaml")},
			"3 faults in strategy testdata/rollout/broken.yaml:\n  progressive.progressDeadline: Invalid value: \"10\": must be a duration",
		},
		"every fault of a status": {
			[]string{"--strategy", good, "--status", rolloutFile("faulty-status.yaml")},
			"3 faults in status testdata/rollout/faulty-status.yaml:\n" +
				"  [0].state: \"Done\" is unknown; use ToApply, Progressing, Succeeded, Failed, TimedOut or Skip\n  [1].cluster: is empty; name " +
				"the cluster\n  [2].cluster: eu-1 is given twice",
		},
		"an unknown placement": {[]string{"--strategy", good, "shop/api"}, "placement shop/api is not found: the input holds shop/web"},
		"another namespace":    {[]string{"--strategy", good, "-n", "bank"}, "no placement is found: the input holds shop/web"},
		"several placements": {
			[]string{"--strategy", good, "-f", filepath.Join(examples, "canary")},
			"several placements match; name one: ",
		},
		"two placements":           {[]string{"--strategy", good, "a", "b"}, `unexpected argument "b"`},
		"an unknown output":        {[]string{"--strategy", good, "-o", "wide"}, `unknown output "wide"`},
		"an instant that is none":  {[]string{"--strategy", good, "--now", "noon"}, `--now "noon" is not in RFC 3339 form`},
		"a rate and no simulation": {[]string{"--strategy", good, "--failure-rate", "0.1"}, "--failure-rate is read with --simulate only"},
		"a rate above one":         {[]string{"--strategy", good, "--simulate", "--hang-rate", "1.1"}, "must be from 0 to 1"},
		"rates that exceed all": {
			[]string{"--strategy", good, "--simulate", "--hang-rate", "0.6", "--failure-rate", "0.6"},
			"together at most 1",
		},
		"a rate that is no number": {[]string{"--strategy", good, "--simulate", "--failure-rate", "NaN"}, "must be from 0 to 1"},
		"a duration before now":    {[]string{"--strategy", good, "--simulate", "--duration", "-1m"}, "--duration must be more than 0"},
		"a spread beyond":          {[]string{"--strategy", good, "--simulate", "--spread", "2"}, "--spread must be from 0 to 1"},
		"an unknown command":       {[]string{"--strategy", good, "--launch"}, "unknown flag: --launch"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := plan(t, tc.args...)
			if got.Code != command.ExitRefused || got.Out != "" || !strings.Contains(got.ErrOut, tc.want) {
				t.Errorf("got %+v, want exit code 2 and %q on standard error", got, tc.want)
			}
		})
	}
	if got := run(t, "", "rollout", "launch"); got.Code != command.ExitRefused || !strings.Contains(got.ErrOut, `unknown command "launch"`) {
		t.Errorf("got %+v", got)
	}
}

// TestRolloutPlanOfAPlacementWithoutDecisions gets an error: there is nothing to plan with.
func TestRolloutPlanOfAPlacementWithoutDecisions(t *testing.T) {
	const disabled = `{apiVersion: cluster.open-cluster-management.io/v1beta1, kind: Placement, metadata: {name: web, namespace: shop,
		annotations: {cluster.open-cluster-management.io/experimental-scheduling-disable: "true"}}, spec: {}}`
	got := run(t, disabled, "rollout", "plan", "-f", "-", "--strategy", rolloutFile("pergroup.yaml"), "--status", rolloutFile("status.yaml"))
	if got.Code != command.ExitOK || !strings.Contains(got.Out, "Undecided: The placement has decided nothing yet") ||
		!strings.Contains(got.ErrOut, "warning: placement shop/web has decided nothing yet\n") {
		t.Errorf("got %+v", got)
	}
}
